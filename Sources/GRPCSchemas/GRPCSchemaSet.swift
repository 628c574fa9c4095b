import Basics

/// The schemas that an environment knows: a given one, and those of services that were learned later.
package final class GRPCSchemaSet: Sendable {
  private let given: GRPCSchema?
  private let learned = Guarded<[String: GRPCSchema]>([:])

  /// - Parameter given: a schema that takes precedence for the services in it.
  package init(_ given: GRPCSchema? = nil) { self.given = given }

  /// Whether no schema is known yet.
  package var isEmpty: Bool { given == nil && learned.withLock { $0.isEmpty } }

  /// The schema of a method.
  ///
  /// - Parameter path: the path of a call, `/package.Service/Method`.
  /// - Returns: the schema; nil if none has the method.
  package func schema(of path: String) -> GRPCSchema? {
    if let given, given.has(path) { return given }
    guard let schema = learned.withLock({ $0[Self.service(of: path)] }), schema.has(path) else { return nil }
    return schema
  }

  /// The schemas that are known now. It does not change when others are learned.
  package var snapshot: GRPCSchemaSet {
    let copy = GRPCSchemaSet(given)
    let known = learned.withLock { $0 }
    copy.learned.withLock { $0 = known }
    return copy
  }

  /// Adds the schema of a service.
  ///
  /// - Parameters:
  ///   - schema: the schema.
  ///   - service: the service's name, with its package.
  package func add(_ schema: GRPCSchema, for service: String) { learned.withLock { $0[service] = schema } }

  /// The name of the service in a path, `/package.Service/Method`.
  ///
  /// - Parameter path: the path.
  /// - Returns: the name; empty for a path without a service.
  package static func service(of path: String) -> String {
    path.split(separator: "/", maxSplits: 1).first.map(String.init) ?? ""
  }
}
