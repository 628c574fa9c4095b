/// Why there is no lease, or none to release.
package struct PortError: Error, CustomStringConvertible, Equatable {
  package enum Kind: Sendable, CaseIterable {
    /// No port is free, or no more may be leased.
    case exhausted
    /// There is no lease of this port.
    case notLeased
    /// The request makes no sense.
    case invalid
    /// The change could not be stored, and was not made.
    case notRecorded
    /// The system refuses sockets: too many are open.
    case system
  }

  package let kind: Kind
  /// One line: what, where, what to do next.
  package let message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  package var description: String { message }
}

/// What a pool stores, so that it is there after a restart.
package enum PortChange: Sendable, Equatable {
  case leased([PortLease])
  case released([UInt16])
}
