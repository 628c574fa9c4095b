package import EnvironmentConfiguration
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The body of `POST /v1/environments`: the configuration of the environment, and its lifetime.
@dynamicMemberLookup
package struct ProvisioningRequest: Codable, Sendable, Equatable {
  package var configuration: EnvironmentConfiguration
  /// The environment ends when this process does.
  package var owner: Owner?
  /// The seconds after which the environment ends; nil for 3600, or for no limit if there is an owner.
  package var ttlSeconds: Double?

  package init(_ configuration: EnvironmentConfiguration = EnvironmentConfiguration()) {
    self.configuration = configuration
  }

  /// A request that does not depend on the process that sends it.
  ///
  /// - Parameters:
  ///   - configuration: the environment. The cassette's path is made absolute, and `..` in it is resolved; so are those of
  ///     stubs, collections, the OpenAPI document and .proto files.
  ///   - isContinuousIntegration: whether `CI` is set. If so, mode `once` becomes `replay`.
  package init(_ configuration: EnvironmentConfiguration, isContinuousIntegration: Bool) {
    self.init(configuration)
    if isContinuousIntegration, configuration.mode ?? "once" == "once" { self.configuration.mode = "replay" }
    self.configuration.cassette = configuration.cassette.map(Self.plain)
    self.configuration.stubs = configuration.stubs.map(Self.plain)
    self.configuration.collections = configuration.collections.map(Self.plain)
    self.configuration.openapi = configuration.openapi.map(Self.plain)
    self.configuration.proto = configuration.proto.map(Self.plain)
    self.configuration.protoPaths = configuration.protoPaths.map(Self.plain)
  }

  /// An absolute path without `..`, which the daemon rejects. Symbolic links are resolved if the path contains `..` and
  /// its folder exists.
  private static func plain(_ path: String) -> String {
    let path = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    guard path.split(separator: "/").contains("..") else { return path }
    let real = realpath((path as NSString).deletingLastPathComponent, nil).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    let name = (path as NSString).lastPathComponent
    return real.map { ($0 == "/" ? "" : $0) + "/" + name } ?? (path as NSString).standardizingPath
  }

  package subscript<Value>(dynamicMember member: WritableKeyPath<EnvironmentConfiguration, Value>) -> Value {
    get { configuration[keyPath: member] }
    set { configuration[keyPath: member] = newValue }
  }

  private enum CodingKeys: String, CodingKey { case owner, ttlSeconds }

  package init(from decoder: any Decoder) throws {
    configuration = try EnvironmentConfiguration(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    owner = try container.decodeIfPresent(Owner.self, forKey: .owner)
    ttlSeconds = try container.decodeIfPresent(Double.self, forKey: .ttlSeconds)
  }

  package func encode(to encoder: any Encoder) throws {
    try configuration.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(owner, forKey: .owner)
    try container.encodeIfPresent(ttlSeconds, forKey: .ttlSeconds)
  }
}

/// A process, by its id. The daemon looks up its start time, because ids are reused.
package struct Owner: Codable, Sendable, Equatable {
  package var pid: Int32

  package init(pid: Int32) { self.pid = pid }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let number = try container.decode(Int.self, forKey: .pid)
    guard let pid = Int32(exactly: number) else {
      throw DecodingError.dataCorruptedError(
        forKey: .pid, in: container, debugDescription: "\(number) is not a process id")
    }
    self.pid = pid
  }
}
