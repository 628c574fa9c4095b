import Basics
import CassetteChecks
import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama env requests`: lists or counts the requests that an environment has received.
enum EnvironmentRequests {
  private static let name = "env requests"

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let id = try EnvironmentCommand.id(options, command: name)
    let expected = try options.number("--count", 0...1_000_000_000, command: name)
    let pattern = try pattern(options)
    let url = try url(of: id, options)
    let found = try call("/requests/find", pattern, at: url)
    guard found["requestJournalDisabled"] != .bool(true) else {
      throw CodedError(
        .usage,
        "environment \(id) keeps no requests because it has no stubs or collections; add one before the requests, or "
          + "see its journal with diorama env report")
    }
    let requests = found["requests"]?.array ?? []
    if options.has("--json") {
      try Output.write(json: found)
    } else {
      let rows = requests.map { request in
        [request["method"]?.text ?? "", request["absoluteUrl"]?.text ?? ""]
      }
      try Output.write(Table(header: ["method", "url"], rows: rows, rightAligned: []), orIfEmpty: "no requests")
    }
    guard let expected, expected != requests.count else { return 0 }
    guard requests.count < expected else {
      terminal.error("expected \(counted(expected, "request")), received \(requests.count)")
      return 3
    }
    let near = try call("/near-misses/request-pattern", pattern, at: url)["nearMisses"]?.array ?? []
    let others = near.compactMap { miss -> String? in
      guard miss["matchResult"]?["distance"]?.double ?? 0 > 0, let request = miss["request"] else { return nil }
      return "\(request["method"]?.text ?? "") \(request["url"]?.text ?? "")"
    }
    terminal.error(
      "expected \(counted(expected, "request")), received \(requests.count)"
        + (others.isEmpty ? "" : "; the nearest are: \(others.joined(separator: ", "))"))
    return 3
  }

  /// The requests to list, as a WireMock request pattern.
  private static func pattern(_ options: Options) throws -> JSON {
    var pattern: JSON = .object([JSON.Member]())
    if let text = options.value("--matching") {
      pattern = try CodedError.translating(
        to: .usage, at: "--matching", try JSON.parse(Array(text.utf8), advice: "give a JSON object"))
    }
    guard var members = pattern.object else {
      throw CodedError(usage: "--matching takes a JSON object, not '\(pattern.text.prefix(60))'", command: name)
    }
    if let method = options.value("--method") { members.append(.init("method", .string(method))) }
    if let path = options.value("--path") {
      if let other = members.first(where: { $0.key.hasPrefix("url") }) {
        throw CodedError(usage: "--path and '\(other.key)' in --matching both give the path; remove one", command: name)
      }
      members.append(.init(path.contains("{") ? "urlPathTemplate" : "urlPath", .string(path)))
    }
    return .object(members)
  }

  /// The environment's control URL: that of the caller's own environment, which may be one of `diorama run`, or as the
  /// daemon says.
  private static func url(of id: String, _ options: Options) throws -> String {
    let variables = ProcessInfo.processInfo.environment
    if id == variables["DIORAMA_ENVIRONMENT"], let own = variables["DIORAMA_CONTROL"] { return own }
    let environment = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await client.environment(id)
    }
    return environment.contract?.document?.control?.url ?? "http://127.0.0.1:\(environment.port)/__diorama"
  }

  private static func call(_ path: String, _ pattern: JSON, at url: String) throws -> JSON {
    let body = pattern.encoded()
    let answer = try blocking { () async -> Result<(status: Int, body: [UInt8]), CodedError> in
      do throws(CodedError) {
        return .success(
          try await AdminClient.call("POST", path, body, at: url))
      } catch {
        return .failure(error)
      }
    }.get()
    let json = try JSON.parse(answer.body)
    guard answer.status < 400 else {
      throw CodedError(
        usage: "--matching: \(json["errors"]?.array?.first?["detail"]?.string ?? "not valid")", command: name)
    }
    return json
  }

  static let command = Command(
    name, "list or count the requests that an environment has received", usage: ["env requests [option …] [ID]"],
    about: """
      Lists the requests that an environment has received, in order, starting when
      its first stub or collection was added.
      """,
    options: [
      .init("--method", "METHOD", "only requests with this method"),
      .init("--path", "PATH", "only requests with this path, such as /orders/{id}"),
      .init("--matching", "JSON", "only requests that match this WireMock request pattern"),
      .init("--count", "N", "fail unless there are N such requests"),
      .init("--json", nil, "print JSON, with headers and bodies"), DaemonAccess.option,
    ],
    notes: """
        diorama env requests --method POST --path /orders --count 1

      Exit status: 3 if the number of requests differs from --count.
      """, operands: .words, run: run)
}
