import Basics
import Transforms
import Cassettes
import HTTPMessages

/// Redacts a request's body as it arrives, and makes the request's match keys with ``KeyStream``.
struct UploadMatcher {
  /// The result.
  struct Found {
    /// The request as it would be recorded, with its body, or the beginning of a body that was too large to be held.
    var request: Request
    /// Nil if nothing is replayed.
    var keys: RequestKeys?
    /// The keys of the unchanged request, if dates are moved back; nil if they are the same.
    var keysAsSent: RequestKeys?
    /// The length of a body that was too large to be held; nil for one that was held.
    var length: Int?
  }

  /// How many bytes of a body are kept for messages.
  private static let beginning = 4096

  /// A request that is looked up.
  private struct Sought {
    /// As it would be recorded, without its body.
    let request: Request
    var key: KeyStream
    var start: [UInt8] = []
    /// Converts gRPC messages that are compared as JSON.
    var messages: MessagesAsJSON?

    init(_ request: Request, upstream: Int, in environment: Environment) throws(CodedError) {
      let clean = environment.redactor.redact(request)
      messages = environment.replay?.requests.comparison.messages(
        clean.headers, target: clean.target, upstream: upstream)
      self.request = messages == nil ? clean : clean.asJSON([])
      key = try (environment.replay?.maker ?? MatchKeyMaker()).stream(for: self.request, upstream: upstream)
    }

    mutating func push(_ clean: [UInt8], isLast: Bool = false) {
      let clean = messages?.push(clean, isLast: isLast) ?? clean
      if start.count < UploadMatcher.beginning { start += clean.prefix(UploadMatcher.beginning - start.count) }
      clean.withUnsafeBytes { key.push($0) }
    }

    mutating func finish(_ replay: Replay?, upstream: Int) throws(CodedError) -> Found {
      if messages != nil { push([], isLast: true) }
      var found = Found(request: request, length: key.heldBody == nil ? key.count : nil)
      found.request.body = .bytes(key.heldBody ?? start)
      if let replay { found.keys = replay.variant(try key.finish(for: request), of: request, upstream: upstream) }
      return found
    }
  }

  private let request: Request
  private let environment: Environment
  private let upstream: Int
  private var redactor: BodyRedactor
  private var sent: Sought
  /// The same without decoding, for a body whose decoded size exceeds the limit; nil if it has no content coding.
  private var coded: Sought?
  /// The same with dates in the recording's time, for a body that is not held in memory; nil if no dates are moved.
  private var moved: Sought?
  private var shifter: BodyShifter?
  private var hasBegun = false

  /// - Parameters:
  ///   - request: the request, with the upstream's URLs; its body is ignored.
  ///   - upstream: the upstream's index.
  ///   - environment: the environment that replays the cassette.
  /// - Throws: a ``CodedError`` if a rule cannot be applied to the request.
  init(_ request: Request, upstream: Int, in environment: Environment) throws(CodedError) {
    var head = request
    head.body = .empty
    self.request = head
    self.environment = environment
    self.upstream = upstream
    redactor = environment.redactor.body(request.headers, isDecoded: false, path: request.target)
    sent = try Sought(head, upstream: upstream, in: environment)
    if redactor.isCoded { coded = sent }
    if let back = environment.replay?.shifter?.requestBack(head) {
      moved = try Sought(back, upstream: upstream, in: environment)
    }
  }

  mutating func push(_ chunk: [UInt8]) {
    coded?.push(chunk)
    take(redactor.push(chunk))
  }

  private mutating func take(_ clean: [UInt8]) {
    guard !clean.isEmpty else { return }
    let isTooLong = sent.key.count + clean.count > KeyStream.heldLimit
    let before = sent.key.holdsAll && !isTooLong ? nil : sent.key.heldBody
    sent.push(clean)
    // Dates in a held body are moved back all at once, in `finish()`.
    guard moved != nil, sent.key.heldBody == nil else { return }
    if let before { takeMoved(before) }
    takeMoved(clean)
  }

  private mutating func takeMoved(_ clean: [UInt8]) {
    guard !clean.isEmpty else { return }
    if !hasBegun {
      hasBegun = true
      let form = DateShifter.form(request.headers["Content-Type"], isFromApp: true, beginning: clean.first)
      shifter = form.flatMap { environment.replay?.shifter?.reversed.body($0) }
    }
    moved?.push(shifter?.push(clean) ?? clean)
  }

  /// Finishes the body.
  ///
  /// - Returns: the keys: with dates in the recording's time, and of the unchanged request.
  /// - Throws: a ``CodedError`` if a rule cannot be applied.
  mutating func finish() throws(CodedError) -> Found {
    take(redactor.finish())
    // A body that is too large to decode is recorded as sent, so it is matched that way.
    if redactor.isTooLarge, var coded { return try coded.finish(environment.replay, upstream: upstream) }
    let held = sent.key.heldBody
    var found = try sent.finish(environment.replay, upstream: upstream)
    guard let dates = environment.replay?.shifter, sent.messages == nil else { return found }
    let keysAsSent = found.keys
    if let held {
      // The held body is already decoded and redacted.
      var back = request
      back.headers.remove("Content-Encoding")
      back.body = .bytes(held)
      back = dates.requestBack(back)
      back.headers = dates.reversed.headers(request.headers)
      back.target = environment.redactor.redactURL(back.target)
      back.headers = environment.redactor.redact(back.headers)
      found.request = back
      if case .bytes(let bytes) = back.body {
        found.keys = try environment.replay?.keys(of: back, upstream: upstream, body: bytes)
      }
    } else if var moved {
      if let rest = shifter?.finish() { moved.push(rest) }
      found = try moved.finish(environment.replay, upstream: upstream)
    }
    if found.keys != keysAsSent { found.keysAsSent = keysAsSent }
    return found
  }
}

extension MatchKeyMaker {
  /// A key stream for a request with the upstream's URLs.
  ///
  /// - Throws: a ``CodedError`` if a rule cannot be applied to the request.
  func stream(for request: Request, upstream: Int) throws(CodedError) -> KeyStream {
    do {
      return try KeyStream(
        self, method: request.method, upstream: upstream, target: request.target, headers: request.headers)
    } catch {
      throw .unanswerable(request, error)
    }
  }
}

extension KeyStream {
  /// Finishes the keys.
  ///
  /// - Throws: a ``CodedError`` if a rule cannot be applied to the request.
  fileprivate mutating func finish(for request: Request) throws(CodedError) -> RequestKeys {
    do { return try finish() } catch { throw .unanswerable(request, error) }
  }
}

extension CodedError {
  static func unanswerable(_ request: Request, _ error: any Error) -> CodedError {
    CodedError(.broken, "\(request.method) \(request.target) cannot be looked up: \(error)")
  }
}
