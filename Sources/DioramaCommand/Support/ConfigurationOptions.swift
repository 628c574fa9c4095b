import Basics
import ChildProcesses
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import Isolation
import LaunchContract

/// Reads settings from the options of `diorama run` and `diorama env create`, which are made from
/// ``EnvironmentConfiguration/fields``.
struct ConfigurationOptions {
  /// The options, for a command's own table.
  static let table: [Options.Option] =
    EnvironmentConfiguration.fields.compactMap { Options.Option($0.member) } + [
      .init("--proxy", nil, "Set http_proxy and its like to the environment.", in: .basics)
    ] + projectTable

  /// The variables that make programs use the environment as their proxy, or else exempt this machine from an inherited
  /// one.
  ///
  /// - Parameters:
  ///   - proxy: the environment's main port.
  ///   - isProxy: whether `--proxy` was given.
  ///   - origins: the backends; one on this machine makes requests to this machine use the proxy.
  ///   - inherited: the variables that programs would inherit.
  /// - Returns: the variables to set.
  static func proxyVariables(
    _ proxy: String?, _ isProxy: Bool, _ origins: [Origin], _ inherited: [String: String]
  ) -> [String: String] {
    guard isProxy, let proxy else { return InheritedVariables.proxyExceptions(inherited) }
    let isLocal = origins.contains { ["127.0.0.1", "localhost", "[::1]"].contains($0.host) }
    return InheritedVariables.proxy(proxy, includesThisMachine: isLocal)
  }

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
    let project = try Self.project(options)
    let test = try settingsOfTest()
    if configuration.mode == nil, let mode = try EnvironmentConfiguration.requestedMode(variables) {
      // A test that mocks its backends has nothing to record.
      let upstreams = [configuration, test ?? .init(), project?.settings ?? .init()].flatMap(\.upstreams.values)
      let keepsMode = test?.mode == "mock" && !upstreams.contains { $0.url != nil }
      configuration.mode = keepsMode ? "mock" : mode
    }
    if let test { configuration = configuration.inside(test) }
    if let project {
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
    configuration.caller = test.map { $0.caller ?? "plugin" } ?? "command"
    return try checked(configuration).readingSecrets(variables, isContinuousIntegration: isContinuousIntegration)
  }

  /// Resolves a configuration. The ports are still to be filled in.
  func specification(_ configuration: EnvironmentConfiguration) throws -> EnvironmentSpecification {
    var specification = try EnvironmentSpecification(try checked(configuration), isChecked: true)
    specification.isContinuousIntegration = isContinuousIntegration
    return specification
  }

  /// - Throws: ``CodedError`` for options that need isolation where the command is not isolated, for `--proxy` where it
  ///   is, and for a port that is not valid.
  static func checkIsolation(
    _ options: Options, _ isolation: EnvironmentConfiguration.Isolation?, command: String
  ) throws(CodedError) {
    guard let isolation else {
      let needless = ConfigurationOptions.table.first {
        $0.group == .isolation && $0.name != "--isolate" && options.has($0.name)
      }
      guard let needless else { return }
      throw CodedError(usage: "\(needless.name) has no effect without --isolate; add --isolate", command: command)
    }
    if options.has("--proxy") {
      throw CodedError(
        usage: "--proxy and --isolate cannot be combined; --isolate=proxy also sets the proxy variables",
        command: command)
    }
    for text in isolation.publish {
      do throws(CodedError) { _ = try PublishedPort(text) } catch {
        throw CodedError(usage: "--publish: \(error.message)", command: command)
      }
    }
  }

  private func checked(_ configuration: EnvironmentConfiguration) throws(CodedError) -> EnvironmentConfiguration {
    do { try configuration.check() } catch { throw usage(Self.inOptions(error.problem)) }
    return configuration
  }

  /// Returns an error about settings in the terms of the options: `--ca api: …` for `upstreams.api.ca: …`.
  static func inOptions(_ problem: String) -> String {
    var text = problem
    let options = EnvironmentConfiguration.fields.compactMap { field in
      field.member.option.map { (field.path, $0.name) }
    }
    if let colon = problem.firstRange(of: ": ") {
      let place = problem[..<colon.lowerBound]
      let near = options.compactMap { path, option in
        names(in: place, of: path).map { (length: path.count, text: ([option] + $0).joined(separator: " ")) }
      }
      if let best = near.max(by: { $0.length < $1.length }) { text = best.text + problem[colon.lowerBound...] }
    }
    // The settings that the text mentions.
    for (path, option) in options where path.contains(".") && !path.contains("*") {
      text = text.replacing(path, with: option)
    }
    return text
  }

  /// Compares a place such as `upstreams.api.headers.X-Key` with a path such as `upstreams.*.headers`.
  ///
  /// - Returns: the names of the user's choice as an option has them, here `api/X-Key`; nil if it is another setting.
  private static func names(in place: Substring, of path: String) -> [String]? {
    let parts = path.split(separator: "*", omittingEmptySubsequences: false)
    guard place.hasPrefix(parts[0]) else { return nil }
    var rest = place.dropFirst(parts[0].count)
    var names: [Substring] = []
    if parts.count == 2 {
      guard let end = rest.firstRange(of: parts[1]) else { return nil }
      names.append(rest[..<end.lowerBound])
      rest = rest[end.upperBound...]
    }
    guard rest.isEmpty || rest.first == "." || rest.first == "[" else { return nil }
    if rest.first == "." { names.append(rest.dropFirst()) }
    return names.isEmpty ? [] : [names.joined(separator: "/")]
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

  /// The settings of `--settings`; nil without it.
  private func settingsOfTest() throws(CodedError) -> EnvironmentConfiguration? {
    guard let path = options.value("--settings") else { return nil }
    let name = path == "-" ? "standard input" : path
    let data: Data
    do throws(CodedError) {
      // Standard input may be anything, such as the socket that Node gives to its children.
      data =
        path == "-"
        ? try StandardInput.read(atMost: InputFile.smallLimit)
        : try InputFile(path, acceptsPipes: true).read(atMost: InputFile.smallLimit)
    } catch {
      throw CodedError(
        .inputOutput, "cannot read the settings in \(name): \(error.problem); see diorama \(command) --help")
    }
    do throws(CodedError) {
      return try EnvironmentConfiguration(settingsOfTest: data, in: FileManager.default.currentDirectoryPath)
    } catch {
      throw CodedError(usage: "--settings: \(error.message)", command: command)
    }
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
    for text in options.all("--map") {
      let (origin, url) = try pair(text, option: "--map", form: "ORIGIN=URL", command: command)
      guard origin.contains("://") else {
        throw usage("--map: '\(origin)' is not an origin; write https://\(origin)=URL")
      }
      configuration.isolation = configuration.isolation ?? .init()
      if let other = configuration.isolation?.map[origin], other != url {
        throw usage("--map: requests for \(origin) cannot be sent to both \(other) and \(url); remove one")
      }
      configuration.isolation?.map[origin] = url
    }
    try readResources(&configuration)
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
    case .element:
      guard case .array(let element, _) = member.schema else { return nil }
      var elements: [JSON] = []
      for text in texts {
        elements.append(try self.value(text, of: element, option.name))
        try check(elements[elements.count - 1], element, option.name)
      }
      // Named by what was typed.
      if option.name == "--fault" { for text in texts { try Self.checkFault(text, command) } }
      value = .array(elements)
    case .entry: value = .object(try values(option.name))
    case .other: return nil
    }
    try check(value, member.schema, option.name)
    return value
  }

  /// - Throws: ``CodedError`` for a fault that is not valid, with the text that was typed.
  static func checkFault(_ text: String, _ command: String) throws(CodedError) {
    do throws(CodedError) {
      _ = try EnvironmentSpecification.check(fault: .string(text), at: "--fault '\(text)'")
    } catch {
      throw CodedError(usage: error.message, command: command)
    }
  }

  /// Returns a number if the setting is one, else a string.
  private func value(_ text: String, of schema: Schema, _ option: String) throws(CodedError) -> JSON {
    switch schema {
    case .integer, .number:
      if let whole = Int(text) { return .int(whole) }
      guard let number = Double(text), number.isFinite else {
        throw usage("\(option) takes a \(schema.isWhole ? "whole " : "")number, not '\(text)'")
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
      let kinds = EnvironmentConfiguration.clockKind.words.map { $0 == "scaled" ? "scaled:RATE" : $0 }
      if kind != "scaled", let problem = TextRule(.word(kinds), count: 0...64).problem(with: kind) {
        throw usage("--clock: \(problem)")
      }
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
      let (name, url) = try pair(text, option: "--upstream", form: "NAME=URL", command: command)
      if let other = configuration.upstreams[name]?.url {
        throw usage("--upstream \(name) is given twice, as \(other) and \(url); remove one")
      }
      configuration.upstreams[name] = .init(url: url)
    }
    for text in options.all("--env") {
      let (variable, name) = try pair(text, option: "--env", form: "VARIABLE=NAME", command: command)
      if let other = configuration.upstreams[name]?.variable {
        throw usage("--env \(variable)=\(name): upstream '\(name)' already sets the variable \(other); remove one")
      }
      configuration.upstreams[name, default: .init()].variable = variable
    }
    for text in options.all("--endpoint-port") {
      let (name, port) = try pair(text, option: "--endpoint-port", form: "NAME=PORT", command: command)
      guard let number = Int(port), 1...65535 ~= number else {
        throw usage("--endpoint-port takes NAME=PORT with a port from 1 to 65535, not '\(text)'")
      }
      configuration.upstreams[name, default: .init()].port = number
    }
    for (name, access) in try AccessOptions(options, command: command).access {
      configuration.upstreams[name, default: .init()].access = access
    }
  }

  private func readResources(_ configuration: inout EnvironmentConfiguration) throws(CodedError) {
    let wait = try options.seconds("--resource-wait", upTo: 86_400, command: command)
    for (name, query) in try ResourceQuery.queries(options, command: command) {
      configuration.resources[name] = query
      configuration.resources[name]?.waitSeconds = wait
    }
    guard wait == nil || !configuration.resources.isEmpty else { throw usage("--resource-wait needs --resource") }
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
