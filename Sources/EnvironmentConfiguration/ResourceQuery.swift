/// A request for exclusive use of a scarce resource, such as a test account: any free one in a pool whose attributes
/// match.
///
/// ```json
/// {"pool": "patients", "where": {"plan": "premium"}, "waitSeconds": 120}
/// ```
package struct ResourceQuery: Codable, Sendable, Equatable {
  /// The name of the pool.
  package var pool: String
  /// The attributes that the resource must have. Values are compared as text; the attribute `name` is its name.
  package var attributes: [String: String]
  /// How long to wait for a free one, in seconds; nil for 60.
  package var waitSeconds: Double?

  /// A query for any free resource of a pool with these attributes.
  package init(pool: String, where attributes: [String: String] = [:], waitSeconds: Double? = nil) {
    self.pool = pool
    self.attributes = attributes
    self.waitSeconds = waitSeconds
  }

  /// A query for any free resource of a pool with these attributes: `.pool("patients", where: ["plan": "premium"])`.
  package static func pool(
    _ name: String, where attributes: [String: String] = [:], waitSeconds: Double? = nil
  ) -> ResourceQuery {
    ResourceQuery(pool: name, where: attributes, waitSeconds: waitSeconds)
  }

  private enum CodingKeys: String, CodingKey {
    case pool, waitSeconds
    case attributes = "where"
  }

  /// Decodes a query, or the name of a pool.
  package init(from decoder: any Decoder) throws {
    if let pool = try? decoder.singleValueContainer().decode(String.self) {
      self.init(pool: pool)
    } else {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        pool: try container.decode(String.self, forKey: .pool),
        where: try container.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:],
        waitSeconds: try container.decodeIfPresent(Double.self, forKey: .waitSeconds))
    }
  }

  /// Encodes a query; without attributes, `where` is left out.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(pool, forKey: .pool)
    if !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
    try container.encodeIfPresent(waitSeconds, forKey: .waitSeconds)
  }
}
