import Transforms
import HTTPMessages

/// Takes in a request's body as far as it has to be known before the request can be answered or sent: endpoints' addresses in
/// it are made the upstreams', in memory that does not grow with it.
struct UploadIntake {
  /// The maximum size in bytes of a body that is read at once.
  static let shortLimit = 1 << 20

  /// The result.
  enum Taken {
    /// The complete body, rewritten.
    case short([UInt8])
    /// A body to send on as it arrives: it is not matched, and its length is unchanged or unknown.
    case passing(Body)
    /// A long body, to send with its length, or empty if nothing is sent; and its match keys, if it is matched.
    case long(Body, UploadMatcher.Found?)
  }

  let environment: Environment
  let upstream: Int
  let form: AddressMap.Form

  /// - Parameters:
  ///   - request: in the upstream's terms, all but its body.
  ///   - isSought: whether it is looked up among what is recorded.
  /// - Returns: what is to be sent, and what it was looked up by.
  /// - Throws: what the body failed with; ``Problem`` where it cannot be kept; a ``CodedError`` where a rule cannot be
  ///   applied to it.
  func take(_ request: Request, isSought: Bool) async throws -> Taken {
    let contentType = request.headers["Content-Type"]
    let rewriter = environment.addresses.requestBodyRewriter(contentType: contentType, form: form)
    switch request.body {
    case .bytes(let bytes): return short(bytes, contentType)
    case .file: return .passing(request.body)
    case .stream(let source, let length):
      guard isSought || rewriter != nil else { return .passing(request.body) }
      var held: [UInt8] = []
      if (length ?? 0) <= Self.shortLimit {
        var isWhole = true
        while let chunk = try await source.read() {
          held += chunk
          isWhole = held.count <= Self.shortLimit
          if !isWhole { break }
        }
        if isWhole { return short(held, contentType) }
      }
      // Who sends without saying how much may send slowly, and for long: the upstream gets it as it comes.
      if !isSought, length == nil { return .passing(Self.translated(held, source, rewriter)) }
      return try await long(request, beginning: held, source, rewriter, isSought: isSought)
    }
  }

  private func short(_ bytes: [UInt8], _ contentType: String?) -> Taken {
    .short(environment.addresses.requestBody(bytes, contentType: contentType, form: form) ?? bytes)
  }

  private func long(
    _ request: Request, beginning: [UInt8], _ source: BytePipe, _ rewriter: EndpointRewriter?, isSought: Bool
  ) async throws -> Taken {
    var rewriter = rewriter
    var sought = isSought ? try UploadMatcher(request, upstream: upstream, in: environment) : nil
    let store = environment.mode.mayReachNetwork ? UploadStore() : nil
    var next: [UInt8]? = beginning
    while let chunk = next {
      let passed = rewriter?.push(chunk) ?? chunk
      try store?.append(passed)
      sought?.push(passed)
      next = try await source.read()
    }
    let rest = rewriter?.finish() ?? []
    try store?.append(rest)
    sought?.push(rest)
    return .long(store?.finish() ?? .empty, try sought?.finish())
  }

  /// A body of unknown length with endpoints' addresses made the upstreams' as it streams by.
  private static func translated(
    _ beginning: [UInt8], _ source: BytePipe, _ rewriter: EndpointRewriter?
  ) -> Body {
    let target = BytePipe()
    target.onAbandoned { source.abandon() }
    Task {
      var rewriter = rewriter
      do {
        var next: [UInt8]? = beginning
        while let chunk = next {
          try await target.write(rewriter?.push(chunk) ?? chunk)
          next = try await source.read()
        }
        try await target.write(rewriter?.finish() ?? [])
        target.finish()
      } catch {
        source.abandon()
        target.fail(error)
      }
    }
    return .stream(target, length: nil)
  }
}
