import Transforms
import HTTPMessages

/// Reads a request's body as far as necessary before the request can be answered or forwarded, and rewrites endpoint
/// URLs in it to upstream URLs. Memory use does not grow with the body.
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

  /// Reads a request's body.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs except in its body.
  ///   - isSought: whether the request is looked up in the cassette.
  /// - Returns: the body to send, and the match keys if needed.
  /// - Throws: the error of the body; a ``Problem`` if the body cannot be stored; a ``CodedError`` if a rule
  ///   cannot be applied.
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
      // A body of unknown length may arrive slowly, and for a long time: forward it as it arrives.
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

  /// A body of unknown length whose endpoint URLs are rewritten while it streams.
  static func translated(
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
