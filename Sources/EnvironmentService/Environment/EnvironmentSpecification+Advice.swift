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
  }

  /// How to specify a cassette.
  var cassetteAdvice: String {
    switch caller {
    case .command: "--cassette PATH"
    case .test: "cassette: \"PATH\""
    case .api: "\"cassette\": \"/PATH\""
    }
  }

  /// How to specify a backend.
  func upstreamAdvice(_ name: String = "NAME", _ url: String = "URL") -> String {
    switch caller {
    // Both may come from a cassette or a request, and users paste the advice into a shell.
    case .command: "--upstream \(ShellWord.quoted("\(name)=\(url)"))"
    case .test: "upstreams: [\"\(name)\": \"\(url)\"]"
    case .api: "\"upstreams\": {\"\(name)\": \"\(url)\"}"
    }
  }

  /// How to set the clock's start.
  var startAdvice: String {
    switch caller {
    case .command: "--start"
    case .test: "clock: .frozen(at:)"
    case .api: "clock.start"
    }
  }

  /// How to set the clock's rate.
  var rateAdvice: String {
    switch caller {
    case .command: "--clock scaled:60"
    case .test: "clock: .scaled(by: 60)"
    case .api: "\"clock\": {\"kind\": \"scaled\", \"rate\": 60}"
    }
  }

  /// How to record (`record`), or to record missing interactions (`extend`).
  func recordAdvice(_ mode: Mode, upstreams: [(name: String, url: String)]) -> String {
    switch caller {
    case .command:
      let named = upstreams.map { " \(upstreamAdvice($0.name, $0.url))" }.joined()
      let rules = order.map { " --order \($0.rawValue)" } ?? ""
      let secrecy = secrecyOptions.map { " \($0)" }.joined()
      return "diorama run --mode \(mode.rawValue) --cassette \(cassette?.description ?? "PATH")"
        + "\(named)\(rules)\(secrecy) -- \(command)"
    case .test:
      return "DIORAMA_MODE=\(mode.rawValue) swift test --filter '\(command)'"
    case .api:
      return "POST /v1/environments " + requestAdvice(mode, upstreams: upstreams)
    }
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
    return CassetteReader.missing(
      location,
      because: mode == .once && isContinuousIntegration ? ", and nothing is recorded where the variable CI is set" : "",
      advice: recordAdvice(.record, upstreams: declared.isEmpty ? [("NAME", "URL")] : declared))
  }
}
