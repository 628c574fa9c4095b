import HTTPMessages

/// Which test each cassette's default place belongs to: overloads by type alone have one name, and would share one.
enum CassetteClaims {
  private static let claims = Guarded<[String: TestIdentity]>([:])

  /// - Throws: when another test of this process has the place.
  static func claim(_ path: String, for identity: TestIdentity) throws(DioramaTestingError) {
    let owner = claims.withLock { claims in
      let owner = claims[path] ?? identity
      claims[path] = owner
      return owner
    }
    guard owner != identity else { return }
    throw DioramaTestingError(
      .usage,
      "two tests would share the cassette \(path): \(owner.name) and \(identity.name); rename one, or give one a "
        + "path with cassette:")
  }
}
