package import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's settings: the members of `Config/daemon.json`, each with its default.
///
/// ```swift
/// var configuration = try DaemonConfiguration(path: "/etc/diorama/daemon.json")
/// configuration.ports = try PortRange("30000-30999")
/// ```
package struct DaemonConfiguration: Codable, Sendable, Equatable {
  /// The TCP address of the control API, in addition to the Unix socket.
  package var control = ControlAddress()
  /// The address for programs on other machines; nil to refuse them.
  package var listen: ListenAddress?
  /// The name or address by which they reach this machine; nil for the address of ``listen``.
  package var advertise: String?
  /// The path of the PEM file with the certificate for them; nil for a self-signed one.
  package var tlsCertificate: String?
  /// The path of the PEM file with its private key.
  package var tlsKey: String?
  /// The pool for leases and for environments' listeners.
  package var ports = PortRange()
  /// The portserver's address for portpicker clients: `@` and a name in the abstract namespace, or a path. Empty
  /// disables the portserver.
  package var portserverAddress = "@unittest-portserver"
  /// Folders that may hold cassettes. If empty, any folder is allowed.
  package var cassetteRoots: [String] = []
  /// The PostgreSQL database of the fleet, or `env:VARIABLE`; nil for an SQLite file in the state folder.
  package var store: String?
  /// `file:PATH` or `env:VARIABLE`: encrypts the secrets of resources; nil for a key in the state folder, or for none with
  /// PostgreSQL.
  package var storeKey: String?
  /// Whether to start although that database cannot be reached.
  package var storeOptional = false
  /// Commands that clean returned resources, by pool: the words of each.
  package var cleanUp: [String: [String]] = [:]
  /// After how many days the fleet's history of runs is deleted; 0 to keep none.
  package var historyDays = 30
  package var limits = DaemonLimits()
  /// Seconds without activity after which a daemon that was started on demand exits.
  package var idleSeconds = 60.0
  /// The least severe level that is logged.
  package var logLevel = Log.Level.info

  package init() {}

  /// Reads a configuration file.
  ///
  /// - Throws: ``CodedError`` if the file can't be read, isn't JSON, or holds an invalid value.
  package init(path: String) throws(CodedError) {
    let data: Data
    do { data = try InputFile(path, acceptsPipes: true).read(atMost: 16 << 20) } catch {
      throw CodedError(.broken, "\(path): cannot be read: \(error); choose another file with --config")
    }
    self = try JSON.decode(Self.self, from: data, source: path)
  }

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case control, listen, advertise, tlsCertificate, tlsKey, ports, portserverAddress, cassetteRoots, store,
      storeKey, storeOptional, cleanUp, historyDays, limits, idleSeconds, logLevel
  }

  package init(from decoder: any Decoder) throws {
    try decoder.refuseOthers(than: CodingKeys.allCases.map(\.rawValue) + ["$schema"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func value<Value: Decodable>(_ key: CodingKeys, _ standard: Value) throws -> Value {
      try container.decodeIfPresent(Value.self, forKey: key) ?? standard
    }
    control = try value(.control, control)
    let text = try value(.listen, "")
    listen = text.isEmpty ? nil : try CodedError.translating(at: "listen", try ListenAddress(text))
    func optional(_ key: CodingKeys) throws -> String? {
      let text = try value(key, "")
      return text.isEmpty ? nil : text
    }
    advertise = try optional(.advertise)
    tlsCertificate = try optional(.tlsCertificate)
    tlsKey = try optional(.tlsKey)
    ports = try value(.ports, ports)
    portserverAddress = try value(.portserverAddress, portserverAddress)
    cassetteRoots = try value(.cassetteRoots, cassetteRoots)
    store = try optional(.store)
    storeKey = try optional(.storeKey)
    storeOptional = try value(.storeOptional, storeOptional)
    cleanUp = try value(.cleanUp, cleanUp)
    historyDays = try value(.historyDays, historyDays)
    limits = try value(.limits, limits)
    idleSeconds = try value(.idleSeconds, idleSeconds)
    logLevel = try container.decodeWordIfPresent(Log.Level.self, forKey: .logLevel) ?? logLevel
    guard 1...31_536_000 ~= idleSeconds else {
      throw CodedError(.broken, "idleSeconds: \(idleSeconds) is not between 1 and 31536000")
    }
    guard 0...3650 ~= historyDays else {
      throw CodedError(.broken, "historyDays: \(historyDays) is not between 0 and 3650")
    }
    for (pool, words) in cleanUp.sorted(by: { $0.key < $1.key }) where words.first.map(\.isEmpty) ?? true {
      throw CodedError(.broken, "cleanUp.\(pool): the command is empty; give a program and its arguments")
    }
    for root in cassetteRoots where !root.isAbsolutePath || root.leadsUp {
      throw CodedError(.broken, "cassetteRoots: '\(root)' is not an absolute path without '..'")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(control, forKey: .control)
    try container.encode(listen?.description ?? "", forKey: .listen)
    try container.encode(advertise ?? "", forKey: .advertise)
    try container.encode(tlsCertificate ?? "", forKey: .tlsCertificate)
    try container.encode(tlsKey ?? "", forKey: .tlsKey)
    try container.encode(ports, forKey: .ports)
    try container.encode(portserverAddress, forKey: .portserverAddress)
    try container.encode(cassetteRoots, forKey: .cassetteRoots)
    try container.encode(store ?? "", forKey: .store)
    try container.encode(storeKey ?? "", forKey: .storeKey)
    try container.encode(storeOptional, forKey: .storeOptional)
    try container.encode(cleanUp, forKey: .cleanUp)
    try container.encode(historyDays, forKey: .historyDays)
    try container.encode(limits, forKey: .limits)
    try container.encode(idleSeconds, forKey: .idleSeconds)
    try container.encode(logLevel, forKey: .logLevel)
  }

  /// The name or address by which programs on other machines reach this one; nil if they can't.
  package var remoteHost: String? { listen.map { advertise ?? $0.host } }

  /// Checks the settings for other machines, which may come from the file and from options.
  ///
  /// - Throws: ``CodedError`` if they contradict each other.
  package func checkReach() throws(CodedError) {
    guard store != nil || !storeOptional else {
      throw CodedError(.broken, "storeOptional has no effect without a database; add --store")
    }
    guard let listen else {
      let given = [("advertise", advertise), ("tlsCertificate", tlsCertificate), ("tlsKey", tlsKey)]
      guard let name = given.first(where: { $0.1 != nil })?.0 else { return }
      throw CodedError(.broken, "\(name) is set, but not listen; add --listen ADDRESS:PORT")
    }
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw CodedError(.broken, "tlsCertificate and tlsKey belong together; set both, or none for a self-signed one")
    }
    if let advertise {
      let labels = advertise.split(separator: ".", omittingEmptySubsequences: false)
      let isName = labels.allSatisfy { label in
        1...63 ~= label.utf8.count && label.utf8.allSatisfy { Self.nameCharacters.contains($0) }
      }
      guard isName, advertise.utf8.count <= 253 else {
        throw CodedError(
          .broken, "advertise: '\(advertise)' is not a host name in lower case or an IPv4 address, without a port")
      }
    }
    guard listen.host != "0.0.0.0" || advertise != nil else {
      throw CodedError(
        .broken, "listen: clients cannot connect to 0.0.0.0; name this machine with --advertise HOST")
    }
  }

  private static let nameCharacters = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)
}

extension Decoder {
  /// Rejects unknown members, since a misspelled one would otherwise be ignored.
  ///
  /// - Throws: ``CodedError`` that names the first member not in `names`.
  func refuseOthers(than names: [String]) throws {
    let place = codingPath.map { "\($0.stringValue)." }.joined()
    for key in try container(keyedBy: ConfigurationKey.self).allKeys.map(\.stringValue).sorted()
    where !names.contains(key) {
      let near = EditDistance.likely(key, among: names).map { "did you mean '\($0)'? The" } ?? "the"
      throw CodedError(.broken, "\(place)\(key): unknown member; \(near) members are \(names.joined(separator: ", "))")
    }
  }
}

private struct ConfigurationKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// Upper limits. A request beyond one is refused; what already exists is not affected.
package struct DaemonLimits: Codable, Sendable, Equatable {
  /// Environments at a time.
  package var environments = 4096
  /// Leased ports at a time, including those of environments.
  package var leases = 12_768
  /// Bytes of a request body.
  package var bodyBytes = 8 << 20
  /// Control API calls that wait at a time: for journal entries (as a page or an event stream), for sleepers, or for
  /// apps to apply a change.
  package var waits = 1024
  /// State requests that wait at a time. Each app that follows its environment has one.
  package var stateWaits = 8192
  /// Seconds that a control API call may wait.
  package var waitSeconds = 300.0
  /// Journal entries kept for an environment.
  package var journalEntries = 10_000
  /// Reports kept of ended environments.
  package var reports = 256
  /// Total bytes of those reports.
  package var reportBytes = 16 << 20

  package init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case environments, leases, bodyBytes, waits, stateWaits, waitSeconds, journalEntries, reports, reportBytes
  }

  package init(from decoder: any Decoder) throws {
    try decoder.refuseOthers(than: CodingKeys.allCases.map(\.rawValue))
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func count(_ key: CodingKeys, _ standard: Int, _ allowed: ClosedRange<Int>) throws -> Int {
      let value = try container.decodeIfPresent(Int.self, forKey: key) ?? standard
      guard allowed ~= value else {
        throw CodedError(
          .broken, "limits.\(key.rawValue): \(value) is not between \(allowed.lowerBound) and \(allowed.upperBound)")
      }
      return value
    }
    environments = try count(.environments, environments, 1...65_536)
    leases = try count(.leases, leases, 1...65_536)
    bodyBytes = try count(.bodyBytes, bodyBytes, 1024...(1 << 30))
    waits = try count(.waits, waits, 1...65_536)
    stateWaits = try count(.stateWaits, stateWaits, 1...65_536)
    journalEntries = try count(.journalEntries, journalEntries, 1...10_000_000)
    reports = try count(.reports, reports, 1...65_536)
    reportBytes = try count(.reportBytes, reportBytes, 1024...(1 << 30))
    waitSeconds = try container.decodeIfPresent(Double.self, forKey: .waitSeconds) ?? waitSeconds
    guard 0...86_400 ~= waitSeconds else {
      throw CodedError(.broken, "limits.waitSeconds: \(waitSeconds) is not between 0 and 86400")
    }
  }
}

/// `LOW-HIGH`: the ports of a pool, both included.
package struct PortRange: Sendable, Equatable, Codable {
  package let lowest: UInt16
  package let highest: UInt16

  /// 20000-32767, which is below Linux's ephemeral ports (`ip_local_port_range`).
  package init() {
    lowest = 20_000
    highest = 32_767
  }

  /// - Throws: ``CodedError`` unless the text is two ports from 1024 on, in ascending order.
  package init(_ text: String) throws(CodedError) {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
    guard ends.count == 2, let low = ends[0], let high = ends[1], low >= 1024, low <= high else {
      throw CodedError(
        .broken, "'\(text)' is not a range LOW-HIGH of ports from 1024 to 65535; give a range such as 20000-32767")
    }
    lowest = low
    highest = high
  }

  package var range: ClosedRange<UInt16> { lowest...highest }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    self = try CodedError.translating(at: "ports", try Self(text))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("\(lowest)-\(highest)")
  }
}

/// `ADDRESS:PORT` for programs on other machines.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  /// An IPv4 address of this machine; `0.0.0.0` for all.
  package let host: String
  /// 0 for a free one.
  package let port: UInt16

  /// - Throws: ``CodedError`` if the text isn't an IPv4 address and a port.
  package init(_ text: String) throws(CodedError) {
    var address = in_addr()
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      inet_pton(AF_INET, String(text[..<colon]), &address) == 1
    else {
      throw CodedError(
        .broken,
        "'\(text)' is not ADDRESS:PORT with an IPv4 address of this machine; give one such as 192.0.2.1:4011")
    }
    host = String(text[..<colon])
    self.port = port
  }

  package var description: String { "\(host):\(port)" }
}

/// `HOST:PORT` of the control API. The host must be this machine, so that other machines can't connect.
package struct ControlAddress: Sendable, Equatable, Codable {
  /// The port; nil for a free one, which stays the same across restarts.
  package var port: UInt16?

  package init(port: UInt16? = nil) { self.port = port }

  /// - Throws: ``CodedError`` if the host isn't 127.0.0.1 or localhost, or the port is missing.
  package init(_ text: String) throws(CodedError) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw CodedError(
        .broken, "'\(text)' is not HOST:PORT; give an address such as 127.0.0.1:4010, or port 0 for a free port")
    }
    guard ["127.0.0.1", "localhost"].contains(text[..<colon].lowercased()) else {
      throw CodedError(
        .broken,
        "'\(text[..<colon])' is not allowed, since the control API listens on 127.0.0.1 only; give 127.0.0.1:\(port)"
      )
    }
    self.port = port == 0 ? nil : port
  }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    self = try CodedError.translating(at: "control", try Self(text))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("127.0.0.1:\(port ?? 0)")
  }
}
