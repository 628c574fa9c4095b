import HTTPMessages

/// Why an upstream gave no whole response: what, which origin, and what to do next, in one line.
package struct UpstreamError: Error, CustomStringConvertible {
  /// What went wrong, as far as a caller may want to tell apart.
  package enum Kind: Sendable, Equatable {
    /// The host's name has no address.
    case unresolved
    /// Nothing listens there.
    case refused
    /// No way to the host.
    case unreachable
    /// No connection within `connectSeconds`, or no byte for `stallSeconds`.
    case timedOut
    /// TLS failed: a certificate that is not trusted, no common protocol.
    case tls
    /// The connection ended before the response did.
    case cut
    /// The proxy that the environment's variables name failed or refused.
    case proxy
    /// This process has no file descriptor left.
    case outOfDescriptors
    /// Anything else: a request that cannot be sent, an answer that is not HTTP, a client that was shut down.
    case other
  }

  /// What went wrong.
  package let kind: Kind
  /// The line to show.
  package let message: String

  /// - Parameters:
  ///   - kind: what went wrong.
  ///   - message: one line that says what, where and what to do next.
  package init(kind: Kind, message: String) {
    self.kind = kind
    self.message = message
  }

  package var description: String { message }

  static func shutDown(_ origin: Origin) -> UpstreamError {
    UpstreamError(kind: .other, message: "\(origin): the client has been shut down: make a new one")
  }

  static func stalled(_ origin: Origin, after nanoseconds: UInt64) -> UpstreamError {
    let seconds = Double(nanoseconds / 1_000_000) / 1000
    return UpstreamError(
      kind: .timedOut, message: "\(origin) sent and took no byte for \(seconds) s: look why it hangs, or allow more")
  }

  static func invalid(_ origin: Origin, _ what: String) -> UpstreamError {
    UpstreamError(kind: .other, message: "\(origin): \(what): correct the request")
  }
}
