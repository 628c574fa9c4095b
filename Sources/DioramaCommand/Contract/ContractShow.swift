import EnvironmentService
import Foundation
import LaunchContract

/// `diorama contract show`: what a contract holds, but for its secrets.
enum ContractShow {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "contract show")
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    let source = try ContractCommand.source(options, command: "contract show")
    let contract = try source.read()
    if options.has("--json") {
      try Output.print(json: try document(contract))
    } else {
      for line in lines(contract, source: source.name) { Output.print(line) }
    }
    return 0
  }

  /// The contract's own JSON with `<secret>` for each secret.
  private static func document(_ contract: LaunchContract) throws -> ContractValue {
    let plain = try JSONDecoder().decode(ContractValue.self, from: try contract.encodedDocument())
    guard case .object(var members) = plain else { return plain }
    if case .object(var control)? = members["control"] {
      control["token"] = hidden
      members["control"] = .object(control)
    }
    if case .object(var credentials)? = members["credentials"], case .array(let items)? = credentials["items"] {
      credentials["items"] = .array(
        items.map { item in
          guard case .object(var members) = item else { return item }
          members["secret"] = hidden
          return .object(members)
        })
      members["credentials"] = .object(credentials)
    }
    return .object(members)
  }

  private static let hidden = ContractValue.string("<secret>")

  private static func lines(_ contract: LaunchContract, source: String) -> [String] {
    let name = contract.environment.name.isEmpty ? contract.environment.id : contract.environment.name
    var lines = ["\(source): version \(contract.version)" + (name.isEmpty ? "" : ", \(name)")]
    let clock = contract.clock
    let time = [clock.kind.rawValue, clock.start, clock.timeZone, clock.locale].compactMap { $0 }
    let rate = clock.kind == .scaled ? ", \(clock.rate) times as fast" : ""
    if !contract.mode.isEmpty { lines.append("  mode      \(contract.mode)") }
    lines.append("  clock     " + time.joined(separator: ", ") + rate)
    if !contract.seed.isEmpty { lines.append("  seed      \(contract.seed)") }
    if let strings = contract.strings {
      let count = strings.entries?.values.joined().count { $0 != nil }
      let origin = count.map { ", \(counted($0, "value"))" } ?? strings.file.map { ", \($0)" } ?? ""
      lines.append("  strings   \(strings.policy.rawValue)\(origin)")
    }
    if let control = contract.control { lines.append("  control   \(control.url), token <secret>") }
    if !contract.unknownFields.isEmpty {
      lines.append("  not known \(contract.unknownFields.joined(separator: ", "))")
    }
    let rows = rows(contract)
    if !rows.isEmpty { lines += [""] + Table(header: ["kind", "name", "value"], rows: rows, rightAligned: []).lines }
    return lines
  }

  private static func rows(_ contract: LaunchContract) -> [[String]] {
    func rows<Value>(_ kind: String, _ members: [String: Value], _ text: (Value) -> String) -> [[String]] {
      members.sorted { $0.key < $1.key }.map { [kind, $0.key, text($0.value)] }
    }
    let credentials = contract.credentials?.items ?? []
    return rows("toggle", contract.toggles, \.json) + rows("default", contract.defaults, \.json)
      + rows("value", contract.values, \.json) + rows("endpoint", contract.endpoints) { $0 }
      + rows("port", contract.ports) { String($0) }
      + credentials.map { ["credential", "\($0.service)/\($0.account)", "\($0.secret)"] }
  }

  private static let table: [Options.Option] = [.init("--json", nil, "as JSON, in the contract's own form")]

  private static let help = """
    usage: diorama contract show [--json] [PATH]

    Shows what a launch contract holds; <secret> stands for the credentials' secrets and the control token.
    Without PATH it reads DIORAMA_CONTRACT, as in: diorama run … -- diorama contract show

    \(Options.describe(table))
    """
}

extension ContractValue {
  /// As JSON, a string with its quotes: here `"5"` and `5` are two things.
  fileprivate var json: String {
    (try? ContractJSON.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
