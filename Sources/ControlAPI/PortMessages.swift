/// The body of `POST /v1/ports`.
package struct PortsRequest: Codable, Sendable, Equatable {
  /// The number of ports; nil for the number of names, or 1.
  package var count: Int?
  /// A name for each port. If `count` is set too, there must be as many.
  package var names: [String]?
  /// The process that owns the ports. They are released when it ends.
  package var owner: Owner?
  /// The seconds after which the ports are released; nil for 3600, or for no limit if there is an owner.
  package var ttlSeconds: Double?
  /// Whether a silent socket keeps the port from other programs; nil for true.
  package var hold: Bool?

  package init(
    count: Int? = nil, names: [String]? = nil, owner: Owner? = nil, ttlSeconds: Double? = nil, hold: Bool? = nil
  ) {
    self.count = count
    self.names = names
    self.owner = owner
    self.ttlSeconds = ttlSeconds
    self.hold = hold
  }
}

/// The response to `POST /v1/ports` (201) and `GET /v1/ports`.
package struct PortList: Codable, Sendable {
  package struct Lease: Codable, Sendable, Equatable {
    package var port: Int
    package var name: String?
    package var owner: Owner?
    /// When it was leased, in RFC 3339; nil in the response to `POST`.
    package var since: String?
    /// When the lease expires, in RFC 3339.
    package var endsAt: String?
    /// The environment that the port belongs to.
    package var environment: String?
    package var hold: Bool?

    package init(
      port: Int, name: String? = nil, owner: Owner? = nil, since: String? = nil, endsAt: String? = nil,
      environment: String? = nil, hold: Bool? = nil
    ) {
      self.port = port
      self.name = name
      self.owner = owner
      self.since = since
      self.endsAt = endsAt
      self.environment = environment
      self.hold = hold
    }
  }

  package var ports: [Lease]

  package init(ports: [Lease]) { self.ports = ports }
}
