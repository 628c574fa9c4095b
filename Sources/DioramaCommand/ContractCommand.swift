import Basics
import Diorama
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama contract`: shows and checks launch contracts.
enum ContractCommand {
  static let command = Command(
    "contract", "show and check launch contracts", usage: ["contract show|check [PATH]"],
    about: "PATH is a contract's JSON file (default: the contract in DIORAMA_CONTRACT).",
    subcommands: [ContractShow.command, ContractCheck.command])

  /// The contract to read: a file, or the `DIORAMA_CONTRACT` of this process.
  static func source(_ options: Options, command: String) throws(CodedError) -> ContractSource {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else { throw CodedError(usage: "unexpected argument '\(words[1])'", command: command) }
    if let path = words.first { return .file(path) }
    guard let value = ProcessInfo.processInfo.environment[ContractSource.variable], !value.isEmpty else {
      throw CodedError(usage: "no contract; give a file, or set \(ContractSource.variable)", command: command)
    }
    return .variable(value)
  }
}

/// The source of a contract.
enum ContractSource {
  static let variable = "DIORAMA_CONTRACT"

  case file(String)
  case variable(String)

  /// For messages and tables.
  var name: String {
    switch self {
    case .file(let path): path
    case .variable: Self.variable
    }
  }

  /// Reads the contract.
  ///
  /// - Throws: ``CodedError`` if it is missing or invalid.
  func read() throws(CodedError) -> LaunchContract {
    if let path, !FileManager.default.fileExists(atPath: path) { throw missing }
    do { return try LaunchContract.read(value, source: name) } catch { throw broken(error) }
  }

  /// Reads the contract as an app does, including checks at launch: time zone, credentials and endpoints.
  ///
  /// - Throws: ``CodedError`` for a contract that an app would refuse.
  func readAsApp() throws(CodedError) -> LaunchContract {
    let contract = try read()
    do { _ = try contract.userDefaults() } catch { throw broken(error) }
    #if DEBUG || Controlled
      do {
        // Runs the app's own code. It connects only when it sends its first report.
        _ = try AppControls(contract) { _ in }
      } catch {
        let problem = error.description
        throw broken(
          .contract(problem.hasPrefix(Self.prefix) ? String(problem.dropFirst(Self.prefix.count)) : problem))
      }
    #endif
    return contract
  }

  /// The contract's JSON, including what the decoded type lacks.
  func document() throws(CodedError) -> JSON {
    var data = Data(value.utf8)
    if let path {
      data = try CodedError.translating(
        to: .inputOutput, at: "cannot read \(path)", try InputFile(path).read(atMost: WholeFiles.limit))
    }
    do { return try JSON.parse([UInt8](data)) } catch {
      throw broken(.contract("not valid JSON, although an app on this machine accepts it: \(error)"))
    }
  }

  private static let prefix = "launch contract: "

  private var missing: CodedError {
    let advice =
      switch self {
      case .file: "check the path, or omit it to read \(Self.variable)"
      case .variable: "\(Self.variable) names it, but its environment may have ended; start another environment"
      }
    return CodedError(.noCassette, "no contract at \(path ?? name); \(advice)")
  }

  private func broken(_ error: CodedError) -> CodedError {
    let isPlaced = error.place != CodedError.contractPlace()
    return CodedError(.broken, "\(isPlaced ? error : .contract(error.problem, source: path ?? name))")
  }

  /// The path of the file; nil if the variable holds the contract itself.
  private var path: String? {
    switch self {
    case .file(let path): path
    case .variable(let value): value.hasPrefix("file:/") ? String(value.dropFirst("file:".count)) : nil
    }
  }

  private var value: String {
    switch self {
    case .file(let path): "file:" + URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    case .variable(let value): value
    }
  }
}

/// `diorama contract show`: prints a contract without its secrets.
enum ContractShow {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let source = try ContractCommand.source(options, command: "contract show")
    let contract = try source.read()
    if options.has("--json") {
      try Output.write(json: try document(contract))
    } else {
      try Output.write(lines: lines(contract, source: source.name))
    }
    return 0
  }

  /// The contract's JSON, with secrets replaced by `<secret>`.
  private static func document(_ contract: LaunchContract) throws -> JSON {
    let plain = try JSON.parse([UInt8](try contract.encodedDocument()))
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

  private static let hidden = JSON.string("<secret>")

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
      lines.append("  unknown   \(contract.unknownFields.joined(separator: ", "))")
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

  static let command = Command(
    "contract show", "print a launch contract without its secrets", usage: ["contract show [--json] [PATH]"],
    about: """
      Prints a launch contract. <secret> replaces credentials and the control token.
      Without PATH, reads DIORAMA_CONTRACT, as in:

        diorama run … -- diorama contract show
      """, options: [.init("--json", nil, "print the contract's JSON")], operands: .files, run: run)
}

extension JSON {
  /// The value as JSON. Strings keep their quotes, which distinguishes `"5"` from `5`.
  fileprivate var json: String { String(decoding: encoded(), as: UTF8.self) }
}

/// `diorama contract check`: verifies that an app can read a contract.
enum ContractCheck {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let source = try ContractCommand.source(options, command: "contract check")
    var result = Result(contract: source.name)
    var status: Int32 = 0
    do {
      let contract = try source.readAsApp()
      result.version = contract.version
      result.unknownFields = contract.unknownFields
      result.notes = ContractNotes.of(contract, document: try source.document())
    } catch {
      result.problem = error.message
      status = error.kind.rawValue
    }
    if options.has("--json") {
      try Output.write(json: result)
    } else {
      try result.write(to: terminal)
    }
    return status
  }

  private struct Result: Encodable {
    var contract: String
    var version: Int?
    /// Members that an app warns about.
    var unknownFields: [String] = []
    /// Members that an app ignores silently.
    var notes: [String] = []
    var problem: String?

    func write(to terminal: Terminal) throws(CodedError) {
      if let problem { return terminal.error(problem) }
      try Output.write(lines: ["\(contract): ok, version \(version ?? 0)"])
      if !unknownFields.isEmpty {
        terminal.line("unknown members: \(unknownFields.joined(separator: ", "))")
      }
      for note in notes { terminal.line(note) }
    }
  }

  static let command = Command(
    "contract check", "verify that an app can read a launch contract", usage: ["contract check [--json] [PATH]"],
    about: """
      Reads a launch contract as an app does, and lists what an app would refuse, warn
      about or ignore. Without PATH, reads DIORAMA_CONTRACT.
      """, options: [.init("--json", nil, "print JSON")], notes: "Exit status: 0 valid; 65 broken; 66 no contract.",
    operands: .files, run: run)
}

/// Finds members that an app silently ignores, since a handwritten contract may rely on them.
enum ContractNotes {
  /// - Parameters:
  ///   - contract: a valid contract.
  ///   - document: its JSON.
  /// - Returns: a line for each finding.
  static func of(_ contract: LaunchContract, document: JSON) -> [String] {
    var notes = repeated(in: document, at: "").map { "\($0) is given more than once; only one is used" }
    let modes = Mode.allCases.map(\.rawValue)
    if !contract.mode.isEmpty, !modes.contains(contract.mode) {
      notes.append("mode: '\(contract.mode)' is not one of \(modes.joined(separator: ", "))")
    }
    if contract.clock.kind == .system, contract.clock.start != nil {
      notes.append("clock.start is ignored, since a system clock shows the machine's time")
    }
    if contract.clock.kind != .scaled, contract.clock.rate != 1 {
      notes.append("clock.rate is ignored, since the clock is \(contract.clock.kind), not scaled")
    }
    if let strings = contract.strings {
      if strings.entries != nil, strings.file != nil {
        notes.append("strings.file is ignored, since strings.entries is given")
      }
      if strings.policy == .derive, strings.entries != nil || strings.file != nil {
        notes.append("recorded strings are ignored, since strings.policy is derive; use replay")
      }
    }
    return notes
  }

  private static func repeated(in value: JSON, at place: String) -> [String] {
    func inner(_ name: some CustomStringConvertible) -> String { place.isEmpty ? "\(name)" : "\(place).\(name)" }
    switch value {
    case .array(let elements):
      return elements.enumerated().flatMap { repeated(in: $0.element, at: inner($0.offset)) }
    case .object(let members):
      let names = Dictionary(grouping: members, by: \.key).filter { $0.value.count > 1 }.keys.sorted()
      return names.map(inner) + members.flatMap { repeated(in: $0.value, at: inner($0.key)) }
    default: return []
    }
  }
}
