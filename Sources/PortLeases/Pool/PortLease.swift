package import Foundation

/// A port held for an owner, until it is released, its time is over, or the owner is gone.
package struct PortLease: Hashable, Sendable, Codable {
  package let port: UInt16
  /// What it is for.
  package let name: String?
  /// Whose end frees it.
  package let owner: PortOwner?
  /// The environment with which it comes back.
  package let environment: String?
  package let since: Date
  /// When it comes back by itself.
  package let endsAt: Date?
  /// Whether a silent socket keeps others out, for a program that binds with `SO_REUSEADDR`.
  package let holds: Bool

  package init(
    port: UInt16, name: String? = nil, owner: PortOwner? = nil, environment: String? = nil, since: Date,
    endsAt: Date? = nil, holds: Bool = true
  ) {
    self.port = port
    self.name = name
    self.owner = owner
    self.environment = environment
    self.since = since
    self.endsAt = endsAt
    self.holds = holds
  }

  /// An environment's endpoint: the daemon binds it itself.
  var isEndpoint: Bool { environment != nil && !holds }
}
