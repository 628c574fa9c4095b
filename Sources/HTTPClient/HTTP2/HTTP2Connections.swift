import EventLoops
import HTTPMessages

/// A driver's connections of HTTP/2. Used on the driver's thread only.
final class HTTP2Connections {
  /// What a connection is good for.
  struct Key: Hashable {
    let origin: Origin
    let trust: Trust
  }

  /// How long an upstream that chose HTTP/1.1 is not asked again, in nanoseconds.
  private static let http1Time: UInt64 = 60_000_000_000

  private unowned let driver: CurlDriver
  private var sessions: [Key: [HTTP2Session]] = [:]
  /// Upstreams that chose HTTP/1.1, and until when they get it.
  private var http1: [Key: UInt64] = [:]

  init(_ driver: CurlDriver) {
    self.driver = driver
  }

  /// The connection for a transfer, which may be a new one.
  ///
  /// - Parameter transfer: a transfer to begin.
  /// - Returns: the connection; nil if the upstream has no HTTP/2.
  /// - Throws: ``UpstreamError`` if memory is exhausted.
  func session(for transfer: Transfer) throws -> HTTP2Session? {
    let key = Key(origin: transfer.origin, trust: transfer.trust)
    if let end = http1[key] {
      guard end <= monotonicNanoseconds() else { return nil }
      http1[key] = nil
    }
    if let kept = sessions[key]?.first(where: \.hasRoom) { return kept }
    let session = try HTTP2Session(key, self, driver)
    sessions[key, default: []].append(session)
    return session
  }

  /// Notes that an upstream has no HTTP/2.
  func useHTTP1(for key: Key) {
    http1[key] = monotonicNanoseconds() + Self.http1Time
  }

  /// Removes a connection that is closing.
  func remove(_ session: HTTP2Session) {
    sessions[session.key]?.removeAll { $0 === session }
    if sessions[session.key]?.isEmpty == true { sessions[session.key] = nil }
  }

  /// Closes all connections.
  func close() {
    for session in sessions.values.joined() { session.close(.shutDown(session.key.origin)) }
  }
}
