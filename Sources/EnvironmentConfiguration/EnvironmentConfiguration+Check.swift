package import Basics
package import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentConfiguration {
  /// Reads a configuration strictly.
  ///
  /// - Parameters:
  ///   - data: a JSON object. Unknown members are errors.
  ///   - scope: where it comes from.
  /// - Throws: a `CodedError` in one line that names the place of the first mistake and what is allowed there.
  package init(decoding data: Data, from scope: ObjectRule.Scope) throws(CodedError) {
    try Self.check(data, Schema.record(Self.members).accepting(scope))
    self = try JSON.decode(Self.self, from: data, source: "")
    try checkRelations()
  }

  /// Reads the settings of a test in another language: one configuration, or a list of them, each inside the one before.
  ///
  /// - Parameters:
  ///   - data: JSON, as in a project file. `command` is the command line that runs the test again.
  ///   - folder: the absolute path where relative paths of certificates and secrets start.
  /// - Throws: a `CodedError` in one line that names the place of the first mistake and what is allowed there.
  package init(settingsOfTest data: Data, in folder: String) throws(CodedError) {
    var members = Self.members
    for index in members.indices where ["command", "caller"].contains(members[index].name) {
      members[index].scope = .everywhere
    }
    let one = Schema.record(members).accepting(.caller)
    let isList = data.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "[")
    try Self.check(data, isList ? .array(of: one, atMost: 100) : one)
    let all =
      isList
      ? try JSON.decode([Self].self, from: data, source: "") : [try JSON.decode(Self.self, from: data, source: "")]
    for settings in all { try settings.checkRelations() }
    self = all.reduce(Self()) { $1.inside($0) }.absolute(in: folder)
  }

  private static func check(_ data: Data, _ schema: Schema) throws(CodedError) {
    let json = try CodedError.translating(at: "not JSON", try JSON.parse([UInt8](data)))
    if let problem = schema.problem(with: json) { throw CodedError(.broken, problem) }
  }

  /// Checks a configuration that was made in code, as if it had been written as JSON.
  ///
  /// - Throws: a `CodedError` in one line that names the place of the first mistake and what is allowed there.
  package func check() throws(CodedError) {
    let data: Data
    do { data = try JSON.encode(self) } catch {
      throw CodedError(.broken, Self.numberProblem(self) ?? "a value cannot be encoded as JSON: \(error)")
    }
    try Self.check(data, Schema.record(Self.members))
    try checkRelations()
  }

  /// JSON has neither infinity nor NaN.
  private static func numberProblem(_ configuration: Self) -> String? {
    let numbers = [
      ("clock.rate", configuration.clock?.rate),
      ("policies.expiresAfterDays", configuration.policies?.expiresAfterDays),
      ("policies.rerecordAfterDays", configuration.policies?.rerecordAfterDays),
    ]
    return numbers.first { $0.1?.isFinite == false }.map { "\($0.0): \($0.1 ?? 0) is not a finite number" }
  }

  /// Checks what a schema cannot express: what depends on other members or on the system.
  ///
  /// - Throws: a `CodedError` in one line.
  package func checkRelations() throws(CodedError) {
    try checkCassette()
    for (name, upstream) in upstreams.sorted(by: { $0.key < $1.key }) {
      if let url = upstream.url {
        _ = try CodedError.translating(at: "upstreams.\(name)", try Origin(parsing: url))
      }
      try upstream.access.check("upstreams.\(name)")
      if let variable = upstream.variable { try Self.check(variable: variable, "upstreams.\(name).variable") }
    }
    try checkAreDistinct("variable", upstreams.compactMapValues(\.variable))
    try checkAreDistinct("port", upstreams.compactMapValues { $0.port.map(String.init) })
    if let name = clock?.timeZone, TimeZone(identifier: name) == nil {
      throw CodedError(.broken, "clock.timeZone: '\(name)' is not a time zone; give an IANA name such as Europe/London")
    }
    if policies?.expired != nil, policies?.expiresAfterDays == nil {
      throw CodedError(.broken, "policies.expired: nothing expires without policies.expiresAfterDays; give that, too")
    }
    if let streams, let problem = Self.problem(withPace: streams) { throw CodedError(.broken, "streams: \(problem)") }
    for (index, host) in allowedHosts.enumerated() {
      if let problem = Self.problem(withHost: host) { throw CodedError(.broken, "allowedHosts[\(index)]: \(problem)") }
    }
    _ = try Self.faults(faults)
    try isolation?.check()
    try checkCredentials()
    try checkResources()
    for (index, name) in ports.enumerated() {
      let variable = "DIORAMA_PORT_" + Self.variableName(name)
      if let other = ports[..<index].first(where: { "DIORAMA_PORT_" + Self.variableName($0) == variable }) {
        throw CodedError(
          .broken,
          "ports[\(index)]: "
            + (other == name
              ? "'\(name)' is given twice; \(variable) can be set once only"
              : "'\(other)' and '\(name)' would share \(variable); rename one"))
      }
    }
  }

  /// Reads faults.
  ///
  /// - Parameter faults: objects and texts, as in ``faults``.
  /// - Returns: the faults.
  /// - Throws: a `CodedError` for the first one that is not valid.
  package static func faults(_ faults: [JSON]) throws(CodedError) -> [FaultSettings] {
    var read: [FaultSettings] = []
    for (index, fault) in faults.enumerated() { read.append(try FaultSettings(fault, at: "faults[\(index)]")) }
    return read
  }

  private static func check(variable: String, _ place: String) throws(CodedError) {
    let isName = variable.utf8.allSatisfy { byte in
      byte == UInt8(ascii: "_") || 0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20
    }
    guard isName, let first = variable.utf8.first, first > 0x39 else {
      throw CodedError(
        .broken,
        "\(place): '\(variable.prefix(80))' is not the name of a variable; write letters, digits and _, as in API_URL")
    }
    guard !variable.hasPrefix("DIORAMA_") else {
      throw CodedError(.broken, "\(place): '\(variable)' is set by Diorama itself; choose the program's own variable")
    }
  }

  /// - Throws: a `CodedError` if two upstreams have the same value.
  private func checkAreDistinct(_ member: String, _ values: [String: String]) throws(CodedError) {
    var known: [String: String] = [:]
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      if let other = known[value] {
        throw CodedError(.broken, "upstreams.\(name).\(member): \(value) is already that of '\(other)'; choose another")
      }
      known[value] = name
    }
  }

  private func checkCassette() throws(CodedError) {
    guard let cassette else { return }
    let name = cassette.split(separator: "/").last ?? ""
    guard !cassette.hasSuffix("/"), !name.isEmpty, name != ".", name != ".." else {
      throw CodedError(.broken, "cassette: '\(cassette)' is a folder; add the cassette's name, such as Cassettes/login")
    }
    guard name.utf8.count <= 200 else {
      throw CodedError(.broken, "cassette: the name has \(name.utf8.count) bytes; the limit is 200")
    }
  }

  private func checkCredentials() throws(CodedError) {
    var seen = Set<[String?]>()
    for (index, item) in credentials.enumerated() where !seen.insert(item.identity).inserted {
      throw CodedError(.broken, "credentials[\(index)]: '\(item.service)/\(item.account)' is given twice")
    }
    for (index, fault) in credentialFaults.enumerated() where fault.fault.hasPrefix("fail") && fault.nth == nil {
      throw CodedError(
        .broken, "credentialFaults[\(index)].nth: \(fault.fault) needs a number from 1: which call fails")
    }
  }

  private func checkResources() throws(CodedError) {
    var variables: [String: String] = [:]
    for name in resources.keys.sorted() {
      if let other = variables.updateValue(name, forKey: Self.variableName(name)) {
        throw CodedError(
          .broken,
          "resources.\(name): '\(other)' and '\(name)' would share DIORAMA_RESOURCE_\(Self.variableName(name)); rename one"
        )
      }
      if let index = credentials.firstIndex(where: { $0.service == name }) {
        throw CodedError(
          .broken,
          "resources.\(name): its secrets are credentials of the service '\(name)', as is credentials[\(index)]; rename one"
        )
      }
    }
  }

  /// Upper case, and `_` for every character outside of A-Z and 0-9: as in `DIORAMA_PORT_<NAME>`.
  package static func variableName(_ name: String) -> String {
    String(
      name.uppercased().unicodeScalars.map { scalar in
        switch scalar {
        case "A"..."Z", "0"..."9": Character(scalar)
        default: "_"
        }
      })
  }

  /// Returns why a text is not a valid host; nil if it is.
  package static func problem(withHost text: String) -> String? {
    guard text != "*" else { return nil }
    guard let (_, port) = Origin.split(authority: text), port == nil else {
      return "'\(text.prefix(100))' is not a host name; give one without scheme and port, or * for all"
    }
    return nil
  }

  /// Factors of `streams: scaled:FACTOR`.
  package static let paceFactors = 0.001...1_000_000.0

  /// Returns why a text is not a valid pace of streams; nil if it is.
  package static func problem(withPace text: String) -> String? {
    let words = ["instant", "recorded", "timeline"]
    if words.contains(text) { return nil }
    let shown = text.prefix(60)
    guard text.hasPrefix("scaled") else {
      let near = EditDistance.likely(String(shown), among: words + ["scaled"])
      return "'\(shown)' is not valid; " + (near.map { "did you mean '\($0)'? Choose" } ?? "choose")
        + " from instant, recorded, scaled:FACTOR or timeline"
    }
    guard text.hasPrefix("scaled:"), let factor = Double(text.dropFirst(7)), paceFactors.contains(factor) else {
      return "'\(shown)' needs a factor from 0.001 to 1000000, such as scaled:10 for ten times as fast"
    }
    return nil
  }
}

extension UpstreamAccess {
  /// - Parameter place: its place, for errors.
  /// - Throws: a `CodedError` that names the member at fault, and never a header's value.
  package func check(_ place: String) throws(CodedError) {
    var names = Set<String>()
    for (name, value) in (headers ?? [:]).sorted(by: { $0.key < $1.key }) {
      let place = "\(place).headers.\(name.prefix(60))"
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isInFieldName) else {
        throw CodedError(.broken, "\(place): not a header name; write it as in X-Api-Key")
      }
      guard names.insert(name.lowercased()).inserted else {
        throw CodedError(.broken, "\(place): it is given twice, in two spellings")
      }
      guard !Self.framing.contains(name.lowercased()) else {
        throw CodedError(.broken, "\(place): it belongs to the connection; Diorama sets it")
      }
      guard value.revealed.utf8.count <= 65_536,
        value.revealed.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) })
      else {
        throw CodedError(.broken, "\(place): its value has line ends or control characters, or more than 65536 bytes")
      }
    }
    if clientKey != nil, clientCertificate == nil {
      throw CodedError(.broken, "\(place).clientKey: a key needs its certificate; give clientCertificate, too")
    }
  }

  private static func isInFieldName(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
  }

  private static let framing: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions",
  ]
}
