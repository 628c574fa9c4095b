import Basics
import ControlAPI
import Daemon
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama mock`: one environment that answers from stubs, on a port of its own, until it is stopped.
enum MockCommand {
  static let command = Command(
    "mock", "run a WireMock-compatible stub server",
    usage: ["mock [--port N] [--root-dir DIR] [option …]"],
    about: """
      Serves the stubs in DIR/mappings/**/*.json until it receives SIGTERM or SIGINT.
      Response bodies can be files in DIR/__files. Stubs use WireMock's format, and
      clients can use WireMock's admin API at /__admin to add stubs, find requests,
      and reset either. When ready, it prints its URL and port as one line of JSON.

      Random values in templates are derived from --seed, and `now` reads --clock.
      With a frozen clock and a fixed --start, the same requests get the same
      responses in every run.
      """,
    options: [
      .init("--port", "N", "listen on port N (default: 8080); 0 picks a free port"),
      .init("--root-dir", "DIR", "the folder that contains mappings and __files (default: the current folder)"),
      .init(
        "--collections", "FILE",
        "serve the collections in FILE, whose items clients can list, create, update and delete"),
      .init(
        "--openapi", "FILE",
        "check requests and stubs against an OpenAPI 3.0 or 3.1 document, which answers the remaining requests"),
      .init("--fault", "FAULT", "a network or backend fault, as in diorama run; repeatable"),
      .init("--global-response-templating", nil, "treat every response as a template"),
      .init(
        "--local-response-templating", nil,
        "treat a response as a template only if its stub uses the transformer response-template (default)"),
      .init("--bind-address", "HOST", "listen on HOST; must be 127.0.0.1 (default)"),
      .init(
        "--allowed-host", "HOST",
        "another host name by which clients may address the server; * allows any (not for the admin API)"),
      .init("--no-request-journal", nil, "don't log requests"),
      .init("--max-request-journal-entries", "N", "keep the last N requests (default: 10000)"),
      .init("--verbose", nil, "print each request to standard error"),
      .init("--disable-banner", nil, "ignored; accepted for compatibility with WireMock"),
      .init("--seed", "TEXT", "the seed of random values (default: mock)"),
      .init(
        "--clock", "KIND", "the clock: system (default), frozen, ticking or scaled:RATE"),
      .init("--start", "INSTANT", "the clock's initial time, in RFC 3339 format"),
      .init("--time-zone", "ID", "the time zone for dates in templates, such as Europe/London"),
    ],
    notes: """
      Example:

        diorama mock --port 8080 --root-dir tests/wiremock &
        curl http://127.0.0.1:8080/__admin/mappings

      Exit status: 0 stopped; 64 usage error; 65 invalid mapping; 66 file or folder
      not found; 74 port unavailable.
      """, run: run)

  /// What is printed when the server is ready.
  private struct ReadyLine: Encodable {
    var url: String
    var admin: String
    var port: Int
    var stubs: Int
    var pid: Int32
  }

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    if let address = options.value("--bind-address"), !["127.0.0.1", "localhost"].contains(address) {
      throw CodedError(
        usage: "--bind-address: only 127.0.0.1 is allowed, because the admin API is unauthenticated",
        command: "mock")
    }
    let port = try options.number("--port", 0...65_535, command: "mock") ?? 8080
    let capacity = try options.number("--max-request-journal-entries", 0...1_000_000, command: "mock")
    let specification = try specification(options, port: port)
    // Before any thread is created.
    let signals = Signals()
    let service = try EnvironmentService()
    var hooks = EnvironmentHooks()
    hooks.shutdown = { Signals.end() }
    if options.has("--verbose") {
      hooks.noted = { entries in
        for entry in entries {
          terminal.line("\(entry.method) \(entry.url) \(entry.status) \(entry.detail ?? entry.kind)")
        }
      }
    }
    let environment = try service.provision(specification, hooks: hooks)
    environment.keepRequests(options.has("--no-request-journal") ? 0 : capacity)
    for note in environment.notes { terminal.line(note) }
    let url = "http://127.0.0.1:\(environment.mainPort)"
    let ready = ReadyLine(
      url: url, admin: "\(url)/__admin", port: Int(environment.mainPort), stubs: environment.stubCount, pid: getpid())
    Output.outliveReaders()
    try Output.write(raw: String(decoding: try JSON.encode(ready), as: UTF8.self) + "\n", needsReader: false)
    while signals.next() == SIGUSR1 {}
    let report = blocking {
      await service.stop()
      return await environment.end(grace: .seconds(1)).report
    }
    for line in report.contractViolations ?? [] { terminal.line("violates the contract: \(line)") }
    return 0
  }

  private static func specification(_ options: Options, port: Int) throws -> EnvironmentSpecification {
    var configuration = EnvironmentConfiguration()
    configuration.name = "mock"
    configuration.mode = "mock"
    configuration.stubs = options.value("--root-dir") ?? "."
    configuration.collections = options.value("--collections")
    configuration.openapi = options.value("--openapi")
    configuration.faults = options.all("--fault").map(JSON.string)
    for fault in options.all("--fault") { try ConfigurationOptions.checkFault(fault, "mock") }
    configuration.stubTemplates = options.has("--global-response-templating")
    configuration.seed = options.value("--seed")
    configuration.allowedHosts = options.all("--allowed-host")
    let clock = (options.value("--clock") ?? "system").split(separator: ":", maxSplits: 1).map(String.init)
    configuration.clock = .init(
      kind: clock.first, start: options.value("--start"), rate: clock.dropFirst().first.flatMap { Double($0) },
      timeZone: options.value("--time-zone"))
    configuration.caller = "command"
    do { try configuration.check() } catch {
      throw CodedError(usage: ConfigurationOptions.inOptions(error.problem), command: "mock")
    }
    var specification = try EnvironmentSpecification(configuration, isChecked: true)
    specification.mainPort = UInt16(exactly: port).flatMap { $0 == 0 ? nil : $0 }
    return specification
  }
}
