/// The body of `POST /v1/ports`.
package struct PortsRequest: Codable, Sendable, Equatable {
  /// How many; by default as many as there are names, else one.
  package var count: Int?
  /// What each is for; as many as `count` where both are given.
  package var names: [String]?
  /// Whose end frees them.
  package var owner: Owner?
  /// They come back after so many seconds; 3600 where no owner is given.
  package var ttlSeconds: Double?
  /// Whether a silent socket keeps others out; true where it is left out.
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

/// The answer of `POST /v1/ports` (201) and of `GET /v1/ports`.
package struct PortList: Codable, Sendable {
  package struct Lease: Codable, Sendable, Equatable {
    package var port: Int
    package var name: String?
    package var owner: Owner?
    /// RFC 3339; nil in the answer of `POST`.
    package var since: String?
    /// RFC 3339: when it comes back by itself.
    package var endsAt: String?
    /// The environment whose port it is.
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
