import Cassettes
import HTTPMessages

/// A request's body that is looked up as it comes: without what is secret in it, and as ``KeyStream`` compares it.
struct SoughtUpload {
  /// What it has come to.
  struct Found {
    /// The request as it would be recorded, with its body where that was held, else with the beginning of that.
    var request: Request
    /// Nil where nothing is replayed.
    var keys: RequestKeys?
    /// How long a body was that was not held; nil for one that was.
    var length: Int?
  }

  /// As much of a body is kept to be shown.
  private static let beginning = 4096

  private var request: Request
  private let replay: Replay?
  private let upstream: Int
  private var redactor: BodyRedactor
  private var key: KeyStream
  private var start: [UInt8] = []

  /// - Parameters:
  ///   - request: in the upstream's terms, without its body.
  ///   - upstream: its index.
  ///   - environment: whose recordings are looked at.
  /// - Throws: an ``EnvironmentError`` where a rule cannot be applied to it.
  init(_ request: Request, upstream: Int, in environment: Environment) throws(EnvironmentError) {
    redactor = environment.redactor.body(request.headers, isDecoded: false)
    var sought = request
    sought.body = .empty
    // Dates in what is too long to be held stay as the app sends them.
    sought = environment.replay?.shifter?.requestBack(sought) ?? sought
    self.request = environment.redactor.redact(sought)
    replay = environment.replay
    self.upstream = upstream
    key = try (environment.replay?.maker ?? MatchKeyMaker()).stream(for: self.request, upstream: upstream)
  }

  mutating func push(_ chunk: [UInt8]) { take(redactor.push(chunk)) }

  private mutating func take(_ clean: [UInt8]) {
    if start.count < Self.beginning { start += clean.prefix(Self.beginning - start.count) }
    clean.withUnsafeBytes { key.push($0) }
  }

  /// Takes the end.
  ///
  /// - Throws: an ``EnvironmentError`` where a rule cannot be applied to it.
  mutating func finish() throws(EnvironmentError) -> Found {
    take(redactor.finish())
    var found = Found(request: request, length: key.heldBody == nil ? key.count : nil)
    found.request.body = .bytes(key.heldBody ?? start)
    if let replay { found.keys = replay.variant(try key.finish(for: request), of: request, upstream: upstream) }
    return found
  }
}

extension MatchKeyMaker {
  /// What makes the keys of a request in the upstream's terms.
  ///
  /// - Throws: an ``EnvironmentError`` where a rule cannot be applied to it.
  func stream(for request: Request, upstream: Int) throws(EnvironmentError) -> KeyStream {
    do {
      return try KeyStream(
        self, method: request.method, upstream: upstream, target: request.target, headers: request.headers)
    } catch {
      throw .unanswerable(request, error)
    }
  }
}

extension KeyStream {
  /// The keys.
  ///
  /// - Throws: an ``EnvironmentError`` where a rule cannot be applied to the request.
  fileprivate mutating func finish(for request: Request) throws(EnvironmentError) -> RequestKeys {
    do { return try finish() } catch { throw .unanswerable(request, error) }
  }
}

extension EnvironmentError {
  static func unanswerable(_ request: Request, _ error: any Error) -> EnvironmentError {
    EnvironmentError(.broken, "\(request.method) \(request.target) cannot be looked up: \(error)")
  }
}
