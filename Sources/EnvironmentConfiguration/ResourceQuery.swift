/// A scarce thing that an environment or a lease needs, such as a test account: any free one of a pool whose attributes
/// match.
///
/// ```json
/// {"pool": "patients", "where": {"plan": "premium"}, "waitSeconds": 120}
/// ```
public struct ResourceQuery: Codable, Sendable, Equatable {
  /// The name of the pool.
  public var pool: String
  /// The attributes that the resource must have. Values are compared as text.
  public var attributes: [String: String]
  /// How long to wait for a free one, in seconds; nil for 60.
  public var waitSeconds: Double?

  /// A query for any free resource of a pool with these attributes.
  public init(pool: String, where attributes: [String: String] = [:], waitSeconds: Double? = nil) {
    self.pool = pool
    self.attributes = attributes
    self.waitSeconds = waitSeconds
  }

  private enum CodingKeys: String, CodingKey {
    case pool, waitSeconds
    case attributes = "where"
  }

  /// Decodes a query; `where` may be missing.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    pool = try container.decode(String.self, forKey: .pool)
    attributes = try container.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:]
    waitSeconds = try container.decodeIfPresent(Double.self, forKey: .waitSeconds)
  }
}
