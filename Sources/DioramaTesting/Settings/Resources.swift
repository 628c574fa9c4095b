import Basics
import ControlAPI
import EnvironmentConfiguration

extension TestEnvironment {
  /// A request for exclusive use of a scarce resource, such as a test account: any free one in a pool.
  ///
  /// The resource is leased before the environment is provisioned, if requests will reach real backends, and returned
  /// when the environment ends. In the meantime no other test gets it, including tests on other machines that share
  /// the pool. A replay leases nothing; it uses the recorded resource.
  ///
  /// ```swift
  /// .environment(upstreams: ["api": "https://dev.api1.com"], resources: ["patient": .pool("patients", where: ["plan": "premium"])])
  /// ```
  public struct ResourceRequest: Sendable, Equatable {
    let query: ResourceQuery

    /// Any free resource of a pool with these attributes.
    ///
    /// - Parameters:
    ///   - pool: the name of the pool; see `diorama pool --help`.
    ///   - attributes: attributes that the resource must have, as text. The attribute `name` is its name.
    ///   - wait: how long to wait for a free one; nil for one minute.
    /// - Returns: the query.
    public static func pool(
      _ pool: String, where attributes: [String: String] = [:], wait: Duration? = nil
    ) -> ResourceRequest {
      ResourceRequest(query: .init(pool: pool, where: attributes, waitSeconds: wait.map { $0 / .seconds(1) }))
    }
  }

  /// A resource that the environment has, such as a test account.
  public struct Resource: Sendable, Equatable {
    /// Its name in the pool.
    public let name: String
    /// Its attributes.
    public let attributes: [String: String]
    /// Passwords and the like. Recordings have placeholders for them.
    public let secrets: [String: String]

    init(_ resource: LeasedResource) {
      name = resource.name
      attributes = resource.attributes
      secrets = resource.secrets ?? [:]
    }
  }

  /// A resource of the environment.
  ///
  /// ```swift
  /// let patient = try TestEnvironment.current.resource("patient")
  /// app.signIn(patient.name, patient.secrets["password"] ?? "")
  /// ```
  ///
  /// - Parameter name: a name given to `resources:`.
  /// - Returns: the resource.
  /// - Throws: ``DioramaTestingError`` if the resource is not declared.
  public func resource(_ name: String) throws(DioramaTestingError) -> Resource {
    let resources = backend.resources
    guard let resource = resources[name] else {
      throw unknown("resource", name, resources.keys.sorted(), "resources:")
    }
    return Resource(resource)
  }
}
