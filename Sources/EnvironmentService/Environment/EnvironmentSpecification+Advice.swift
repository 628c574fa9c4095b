import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// The interface that requested the environment. Messages give advice in its syntax.
  package enum Caller: String, Sendable, Codable, CaseIterable {
    /// The command-line tool: options and command lines.
    case command
    /// A test in Swift: arguments and `swift test`.
    case test
    /// A client of the control API: members of the body of `POST /v1/environments`.
    case api
    /// A test of another language: members of its settings in JSON, and the command line of its runner.
    case plugin
    /// A test of pytest: arguments of its marker.
    case pytest
    /// A test of Node: properties of its settings.
    case node
  }

  /// How to specify a setting.
  ///
  /// - Parameters:
  ///   - option: the option.
  ///   - swift: the argument in Swift.
  ///   - name: the setting's name.
  ///   - value: its value.
  /// - Returns: the setting in the caller's syntax.
  private func setting(_ option: String, swift: String, _ name: String, _ value: JSON) -> String {
    switch caller {
    case .command: option
    case .test: swift
    case .api, .plugin: "\"\(name)\": \(String(decoding: value.encoded(.line), as: UTF8.self))"
    case .pytest: "@pytest.mark.diorama(\(name)=\(value.pythonLiteral))"
    case .node: "\(name): \(value.scriptLiteral)"
    }
  }

  /// How to specify a cassette.
  var cassetteAdvice: String {
    setting("--cassette PATH", swift: "cassette: \"PATH\"", "cassette", .string(caller == .api ? "/PATH" : "PATH"))
  }

  /// How to do without a cassette.
  var mockAdvice: String { setting("--mode mock", swift: ".environment(.mock)", "mode", .string("mock")) }

  /// How to name a folder of stubs.
  var stubsAdvice: String { setting("--stubs DIR", swift: "stubs: \"DIR\"", "stubs", .string("DIR")) }

  /// How to specify a backend.
  func upstreamAdvice(_ name: String = "NAME", _ url: String = "URL") -> String {
    setting(
      // Both may come from a cassette or a request, and users paste the advice into a shell.
      "--upstream \(ShellWord.quoted("\(name)=\(url)"))", swift: "upstreams: [\"\(name)\": \"\(url)\"]",
      "upstreams", .object([.init(name, .string(url))]))
  }

  /// How to set the clock's start.
  var startAdvice: String {
    switch caller {
    case .command: "--start"
    case .test: "clock: .frozen(at:)"
    case .api, .plugin, .pytest, .node: "clock.start"
    }
  }

  /// How to set the clock's rate.
  var rateAdvice: String {
    setting(
      "--clock scaled:60", swift: "clock: .scaled(by: 60)", "clock",
      .object([.init("kind", .string("scaled")), .init("rate", .number("60"))]))
  }

  /// How to make a program use the endpoint of an upstream.
  func connectionAdvice(_ name: String) -> String {
    let variable = "DIORAMA_ENDPOINT_\(EnvironmentConfiguration.variableName(name))"
    return switch caller {
    case .command:
      "have it read \(variable), set a variable that it already reads (--env VARIABLE=\(ShellWord.quoted(name))), "
        + "use the environment as its proxy (--proxy), or isolate it (--isolate)"
    case .test: "have it read its launch contract or \(variable)"
    case .api, .plugin: "have it read \(variable) from the contract"
    case .pytest: "send its requests to diorama.endpoints[\"\(name)\"], or start it with env=diorama.environ"
    case .node: "send its requests to the environment's endpoints, or start it with the environment's environ"
    }
  }

  /// How to permit a run without requests.
  var noRequestsAdvice: String {
    setting(
      "--allow-no-requests", swift: "policies: .init(allowNoRequests: true)", "policies",
      .object([.init("allowNoRequests", .bool(true))]))
  }

  /// How to save a recording that lacks responses.
  var upstreamFailuresAdvice: String {
    setting(
      "--allow-upstream-failures", swift: "policies: .init(allowUpstreamFailures: true)", "policies",
      .object([.init("allowUpstreamFailures", .bool(true))]))
  }

  /// How to record (`record`), or to record missing interactions (`extend`).
  func recordAdvice(_ mode: Mode, upstreams: [(name: String, url: String)]) -> String {
    switch caller {
    case .command:
      // What an isolated command asks for need not be declared.
      var declared = isolation == nil ? upstreams : self.upstreams.map { ($0.name, $0.origin.description) }
      var words = options ?? []
      if options == nil {
        words += isolationOptions + (order.map { ["--order \($0.rawValue)"] } ?? [])
      } else if !self.upstreams.isEmpty {
        // The options or the project file declare them.
        declared = []
      }
      words += unmapped.map { "--map \(ShellWord.quoted("\($0)=URL"))" }
      words += declared.map { upstreamAdvice($0.name, $0.url) }
      return
        (["diorama run --mode \(mode.rawValue) --cassette \(ShellWord.quoted(cassette?.description ?? "PATH"))"] + words
        + ["-- \(command)"]).joined(separator: " ")
    case .test:
      return "DIORAMA_MODE=\(mode.rawValue) swift test --filter '\(command)'"
    case .plugin, .pytest, .node:
      return "DIORAMA_MODE=\(mode.rawValue) \(command)"
    case .api:
      return "POST /v1/environments " + requestAdvice(mode, upstreams: upstreams)
    }
  }

  /// The origins whose requests the recording sent to another server, which no setting names now. Without `--map`, their
  /// requests would reach the real servers.
  private var unmapped: [Origin] {
    guard let isolation else { return [] }
    let mapped = isolation.map.keys.compactMap { try? Origin(parsing: $0) }
    return (mappedOrigins ?? []).filter { !mapped.contains($0) }
  }

  /// The options that isolate the command.
  private var isolationOptions: [String] {
    guard let isolation, let kind = isolation.kind else { return [] }
    var words = [kind == "auto" ? "--isolate" : "--isolate=\(kind)"]
    words += isolation.allow.map { "--allow \(ShellWord.quoted($0))" }
    words += isolation.deny.map { "--deny \(ShellWord.quoted($0))" }
    words += isolation.map.sorted { $0.key < $1.key }.map { "--map \(ShellWord.quoted("\($0.key)=\($0.value)"))" }
    words += isolation.publish.map { "--publish \($0)" } + isolation.hostPorts.map { "--host-port \($0)" }
    if isolation.random == true { words.append("--random") }
    return words
  }

  /// The maximum size of a complete request body in a message, in bytes.
  private static let longestAdvice = 8_000

  /// The body of a request for this environment in another mode: everything that was requested, except secrets and the
  /// owner.
  private func requestAdvice(_ mode: Mode, upstreams: [(name: String, url: String)]) -> String {
    var asked = asked ?? EnvironmentConfiguration()
    if asked.name == cassette?.name || asked.name == "environment" { asked.name = nil }
    // A recording keeps dates as they are received.
    asked.dates = nil
    if asked.command == "COMMAND" { asked.command = nil }
    asked.caller = nil
    asked.mode = mode.rawValue
    asked.cassette = cassette?.description ?? "/PATH"
    for (name, url) in upstreams { asked.upstreams[name, default: .init()].url = url }
    let document = (try? JSON.encode(asked)).flatMap { try? JSON.parse([UInt8]($0)) }
    let first = ["mode", "cassette", "upstreams"]
    let members = first.compactMap { name in document?[name].map { JSON.Member(name, $0) } }
    let rest = (document?.object ?? []).filter { !first.contains($0.key) }
    let whole = JSON.object(members + rest).encoded(.line)
    let shown = whole.count <= Self.longestAdvice ? whole : JSON.object(members).encoded(.line)
    return String(decoding: shown, as: UTF8.self) + (whole.count == shown.count ? "" : " with all else unchanged")
  }

  /// The error for a missing cassette.
  func missing(_ location: CassetteLocation) -> CodedError {
    let declared = upstreams.map { (name: $0.name, url: $0.origin.description) }
    // Recording a program that makes no requests saves no cassette.
    let other = policies?.allowsNoRequests == true ? "; if it needs no requests, use \(mockAdvice) instead" : ""
    return CassetteReader.missing(
      location,
      because: mode == .once && isContinuousIntegration ? ", and mode once does not record when CI is set" : "",
      advice: recordAdvice(.record, upstreams: declared.isEmpty ? [("NAME", "URL")] : declared) + other)
  }
}

extension JSON {
  /// The value in Python.
  fileprivate var pythonLiteral: String {
    switch self {
    case .null: "None"
    case .bool(let value): value ? "True" : "False"
    case .array(let values): "[\(values.map(\.pythonLiteral).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\(JSON.string($0.key).pythonLiteral): \($0.value.pythonLiteral)" }.joined(separator: ", "))}"
    case .number, .string: String(decoding: encoded(.line), as: UTF8.self)
    }
  }

  /// The value in JavaScript, with names without quotes where that is possible.
  fileprivate var scriptLiteral: String {
    guard case .object(let members) = self else { return String(decoding: encoded(.line), as: UTF8.self) }
    let texts = members.map { member in
      let isName = member.key.wholeMatch(of: /[A-Za-z_$][A-Za-z0-9_$]*/) != nil
      return "\(isName ? member.key : JSON.string(member.key).scriptLiteral): \(member.value.scriptLiteral)"
    }
    return "{ \(texts.joined(separator: ", ")) }"
  }
}
