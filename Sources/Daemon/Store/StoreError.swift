/// Why the daemon's state cannot be read or kept: what, where, and what to do next, in one line.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What callers tell apart.
  package enum Kind: Sendable, Equatable {
    /// Another daemon has the state; its process id where it is known.
    case inUse(pid: Int32?)
    /// A later version of Diorama has written it.
    case newer(version: Int)
    /// It is not what was written.
    case corrupt
    /// There is no room on the disk.
    case full
    /// The system does not allow it, it is no folder, or others could read it.
    case notPermitted
    /// The store has been closed.
    case closed
    /// Anything else.
    case other
  }

  package let kind: Kind
  package let description: String

  package init(_ description: String, kind: Kind = .other) {
    self.kind = kind
    self.description = description
  }
}
