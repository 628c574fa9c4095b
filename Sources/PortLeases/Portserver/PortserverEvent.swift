/// What a portserver has done, for the log.
package enum PortserverEvent: Sendable, CustomStringConvertible {
  case leased(port: UInt16, pid: Int32)
  /// A client got no port, and why.
  case refused(String)

  package var description: String {
    switch self {
    case .leased(let port, let pid): "the portserver leased port \(port) to process \(pid)"
    case .refused(let reason): "the portserver refused a client: \(reason)"
    }
  }
}

/// What a portserver has done so far.
struct PortserverCounts {
  /// Why a client got no port.
  enum Refusal {
    /// No port was left, or the process was not one to own any.
    case denied
    /// It sent nonsense, nothing, or too slowly.
    case malformed
    /// It is another user's.
    case foreign
  }

  var leased = 0
  var refused: [Refusal: Int] = [:]
}
