import EnvironmentConfiguration
import Foundation
import LaunchContract

/// How a daemon is to be: the members of `Config/daemon.json`, each with its default.
///
/// ```swift
/// var configuration = try DaemonConfiguration(path: "/etc/diorama.json")
/// configuration.ports = try PortRange("30000-30999")
/// ```
package struct DaemonConfiguration: Codable, Sendable, Equatable {
  /// Where the control API listens besides its Unix socket.
  package var control = ControlAddress()
  /// The ports that are leased, and on which environments listen.
  package var ports = PortRange()
  /// Where clients of portpicker find the portserver: `@` and a name in the abstract name space, or a path; empty: off.
  package var portserverAddress = "@unittest-portserver"
  /// Folders in which cassettes may lie; none: anywhere.
  package var cassetteRoots: [String] = []
  /// How much there may be of everything.
  package var limits = DaemonLimits()
  /// Seconds of nothing at all after which a daemon that was started on demand leaves.
  package var idleSeconds = 60.0
  /// Events below it are not logged.
  package var logLevel = Log.Level.info

  package init() {}

  /// Reads a file.
  ///
  /// - Throws: a ``ConfigurationError`` for a file that cannot be read, is no JSON, or says what cannot be.
  package init(path: String) throws(ConfigurationError) {
    let data: Data
    do throws(InputFileError) {
      data = try InputFile(path, acceptsPipes: true).read(atMost: 16 << 20)
    } catch {
      throw ConfigurationError("\(path): cannot be read: \(error); name another with --config")
    }
    do throws(ContractError) {
      self = try ContractJSON.decode(Self.self, from: data, source: path)
    } catch {
      throw ConfigurationError("\(path): \(error.problem)")
    }
  }

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case control, ports, portserverAddress, cassetteRoots, limits, idleSeconds, logLevel
  }

  package init(from decoder: any Decoder) throws {
    try decoder.refuseOthers(than: CodingKeys.allCases.map(\.rawValue) + ["$schema"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func value<Value: Decodable>(_ key: CodingKeys, _ standard: Value) throws -> Value {
      try container.decodeIfPresent(Value.self, forKey: key) ?? standard
    }
    control = try value(.control, control)
    ports = try value(.ports, ports)
    portserverAddress = try value(.portserverAddress, portserverAddress)
    cassetteRoots = try value(.cassetteRoots, cassetteRoots)
    limits = try value(.limits, limits)
    idleSeconds = try value(.idleSeconds, idleSeconds)
    logLevel = try container.decodeWordIfPresent(Log.Level.self, forKey: .logLevel) ?? logLevel
    guard 1...31_536_000 ~= idleSeconds else {
      throw ContractError("idleSeconds: it is \(idleSeconds), not between 1 and 31536000")
    }
    for root in cassetteRoots where !root.isAbsolutePath || root.leadsUp {
      throw ContractError("cassetteRoots: '\(root)' is no absolute path without '..'")
    }
  }
}

/// A configuration that cannot be: one line of what, where and what to do next.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

extension Decoder {
  /// - Throws: ``ContractError`` naming the first member of an object that is none of these: a typing error would else
  ///   go unnoticed.
  func refuseOthers(than names: [String]) throws {
    let place = codingPath.map { "\($0.stringValue)." }.joined()
    for key in try container(keyedBy: ConfigurationKey.self).allKeys.map(\.stringValue).sorted()
    where !names.contains(key) {
      let near = EditDistance.nearest(to: key, among: names).first.map { "; did you mean '\($0)'?" } ?? ""
      throw ContractError("'\(place)\(key)' is no member of a configuration\(near)")
    }
  }
}

/// A member of any name.
private struct ConfigurationKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
