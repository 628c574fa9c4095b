import Basics
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

/// Reads settings from the options of `diorama run` and `diorama env create`, which are made from
/// ``EnvironmentConfiguration/fields``.
struct ConfigurationOptions {
  /// The options, for a command's own table.
  static let table: [Options.Option] =
    EnvironmentConfiguration.fields.compactMap { field in
      field.member.option.map { Options.Option($0, help: $0.help ?? field.member.note) }
    } + projectTable

  /// The options that choose the project file.
  static let projectTable: [Options.Option] = [
    .init("--config", "FILE", "The project file (default: the nearest diorama.json).", in: .basics),
    .init("--no-config", nil, "Read no project file.", in: .basics),
  ]

  private let options: Options
  private let command: String
  private let variables: [String: String]

  /// - Parameters:
  ///   - options: the command's.
  ///   - command: the command whose help an error names.
  ///   - variables: the process's, for `CI` and secrets.
  init(_ options: Options, command: String, variables: [String: String]) {
    self.options = options
    self.command = command
    self.variables = variables
  }

  var isContinuousIntegration: Bool { !(variables["CI"] ?? "").isEmpty }

  /// The settings of the options, completed by the project file, with secrets read.
  ///
  /// - Parameter command: the cassette's name in the project's folder if no option names a cassette.
  /// - Returns: the settings.
  /// - Throws: ``CodedError`` for a value that cannot be used; a `CodedError` for a file that cannot be read.
  func configuration(named command: String? = nil) throws -> EnvironmentConfiguration {
    var configuration = try given()
    if configuration.mode == nil { configuration.mode = try EnvironmentConfiguration.requestedMode(variables) }
    if let project = try Self.project(options) {
      if configuration.cassette == nil, let folder = project.cassettes, let command {
        let mode = (configuration.mode ?? project.settings.mode).flatMap(Mode.init(rawValue:)) ?? .once
        let current = FileManager.default.currentDirectoryPath + "/"
        let path = "\(folder)/\(command)"
        // Messages show paths as the user would type them.
        if mode.needsCassette {
          configuration.cassette = path.hasPrefix(current) ? String(path.dropFirst(current.count)) : path
        }
      }
      let cassette = configuration.cassette
      configuration.cassette = cassette.map { CassetteLocation($0).base }
      configuration = project.completing(configuration)
      configuration.cassette = cassette
    }
    configuration.caller = "command"
    return try checked(configuration).readingSecrets(variables, isContinuousIntegration: isContinuousIntegration)
  }

  /// Resolves a configuration. The ports are still to be filled in.
  func specification(_ configuration: EnvironmentConfiguration) throws -> EnvironmentSpecification {
    var specification = try EnvironmentSpecification(try checked(configuration), isChecked: true)
    specification.isContinuousIntegration = isContinuousIntegration
    specification.secrecyOptions = [
      "--config", "--credential", "--ca", "--client-certificate", "--insecure", "--header",
    ].flatMap { option in options.all(option).map { "\(option) \(ShellWord.quoted($0))" } }
    return specification
  }

  private func checked(_ configuration: EnvironmentConfiguration) throws(CodedError) -> EnvironmentConfiguration {
    do { try configuration.check() } catch { throw CodedError(usage: error.problem, command: command) }
    return configuration
  }

  /// The project file; nil if there is none.
  static func project(_ options: Options) throws(CodedError) -> ProjectFile? {
    if options.has("--no-config") { return nil }
    let current = FileManager.default.currentDirectoryPath
    if let path = options.value("--config") {
      return try ProjectFile.read(path.hasPrefix("/") ? path : "\(current)/\(path)", acceptsPipes: true)
    }
    guard let path = ProjectFile.nearest(to: current) else { return nil }
    return try ProjectFile.read(path)
  }

  /// The settings of the options alone.
  private func given() throws -> EnvironmentConfiguration {
    var tree: [String: JSON] = [:]
    for field in EnvironmentConfiguration.fields {
      guard let option = field.member.option, let value = try value(of: option, field.member) else { continue }
      tree.set(value, at: field.path.split(separator: ".").map(String.init))
    }
    var configuration = try JSON.decode(
      EnvironmentConfiguration.self, from: try JSON.encode(tree), source: "")
    configuration.clock = try clock()
    if options.has("--shift-dates") { configuration.dates = ShiftRules() }
    try readUpstreams(&configuration)
    configuration.credentials = try options.all("--credential").map(credential)
    configuration.credentialFaults = options.all("--credential-fault").map { text in
      let parts = text.split(separator: ":", maxSplits: 1)
      return .init(String(parts.first ?? ""), nth: parts.count == 2 ? Int(parts[1]) ?? 0 : nil)
    }
    return configuration
  }

  private func value(of option: CommandOption, _ member: ObjectRule.Member) throws(CodedError) -> JSON? {
    let texts = options.all(option.name)
    guard let last = texts.last else { return nil }
    let value: JSON
    switch option.form {
    case .value: value = try self.value(last, of: member.schema, option.name)
    case .flag: value = .bool(true)
    case .element: value = .array(texts.map(JSON.string))
    case .entry: value = .object(try values(option.name))
    case .other: return nil
    }
    try check(value, member.schema, option.name)
    return value
  }

  /// Returns a number if the setting is one, else a string.
  private func value(_ text: String, of schema: Schema, _ option: String) throws(CodedError) -> JSON {
    switch schema {
    case .integer, .number:
      if let whole = Int(text) { return .int(whole) }
      guard let number = Double(text), number.isFinite else {
        throw usage("\(option) takes a number, not '\(text)'")
      }
      return .double(number)
    default: return .string(text)
    }
  }

  /// - Throws: ``CodedError`` for an invalid value.
  func check(_ value: JSON, _ schema: Schema, _ option: String) throws(CodedError) {
    if let problem = schema.problem(with: value) { throw usage("\(option): \(problem)") }
  }

  /// The clock's settings; nil without options for the clock.
  func clock() throws(CodedError) -> EnvironmentConfiguration.Clock? {
    var clock = EnvironmentConfiguration.Clock(
      start: options.value("--start"), timeZone: options.value("--time-zone"), locale: options.value("--locale"))
    if let start = clock.start { try check(.string(start), .instant, "--start") }
    if let text = options.value("--clock") {
      let parts = text.split(separator: ":", maxSplits: 1)
      let kind = parts.first.map(String.init) ?? ""
      try check(.string(kind), EnvironmentConfiguration.clockKind, "--clock")
      clock.kind = kind
      clock.rate = parts.count == 2 ? Double(parts[1]) : nil
      if kind == "scaled", !(1e-6...1e6 ~= clock.rate ?? .nan) {
        throw usage("--clock: a scaled clock needs a rate from 0.000001 to 1000000, such as scaled:60, not '\(text)'")
      }
      if kind != "scaled", parts.count == 2 { throw usage("--clock: only a scaled clock has a rate, not '\(text)'") }
    }
    return clock == .init() ? nil : clock
  }

  private func readUpstreams(_ configuration: inout EnvironmentConfiguration) throws {
    for text in options.all("--upstream") {
      let (name, url) = try pair(text, option: "--upstream", command: command)
      if let other = configuration.upstreams[name]?.url {
        throw CodedError(usage: "upstream '\(name)' is given twice, as \(other) and \(url)", command: command)
      }
      configuration.upstreams[name] = .init(url: url)
    }
    for (name, access) in try AccessOptions(options, command: command).access {
      configuration.upstreams[name, default: .init()].access = access
    }
  }

  private func credential(_ text: String) throws(CodedError) -> EnvironmentConfiguration.Credential {
    guard let equals = text.lastIndex(of: "="), let slash = text[..<equals].firstIndex(of: "/"),
      slash != text.startIndex, text.index(after: slash) < equals
    else { throw usage("--credential takes SERVICE/ACCOUNT=env:VAR or SERVICE/ACCOUNT=file:PATH") }
    let source = String(text[text.index(after: equals)...])
    guard SecretSource.isSource(source) else {
      throw usage(
        "--credential takes SERVICE/ACCOUNT=env:VAR or SERVICE/ACCOUNT=file:PATH; "
          + "other users can read a secret in a command line")
    }
    return .init(
      service: String(text[..<slash]), account: String(text[text.index(after: slash)..<equals]), from: source)
  }

  /// The values of an option that takes `NAME=VALUE`, where VALUE is JSON or a bare word.
  func values(_ option: String) throws(CodedError) -> [String: JSON] {
    var values: [String: JSON] = [:]
    for text in options.all(option) {
      let (key, value) = try pair(text, option: option, command: command)
      values[key] = JSON(argument: value)
    }
    return values
  }

  private func usage(_ message: String) -> CodedError { CodedError(usage: message, command: command) }
}

extension [String: JSON] {
  /// Sets a value in nested objects.
  fileprivate mutating func set(_ value: JSON, at path: [String]) {
    guard path.count > 1 else {
      self[path[0]] = value
      return
    }
    var inner = self[path[0]]?.dictionary ?? [:]
    inner.set(value, at: Array(path.dropFirst()))
    self[path[0]] = .object(inner)
  }
}
