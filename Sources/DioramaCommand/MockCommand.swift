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
    "mock", "serve stubs on a port, as WireMock's standalone server does",
    usage: ["mock [--port N] [--root-dir DIR] [option …]"],
    about: """
      Answers requests with the stubs in DIR/mappings/**/*.json, whose bodies may be
      files in DIR/__files, until it gets SIGTERM or SIGINT. The format is WireMock's,
      and so is the admin API at /__admin, by which clients add stubs, find requests
      and reset both. It prints one line of JSON when it is ready.

      Random values in templates come from the seed, and `now` from the clock, so the
      same requests get the same answers in every run.
      """,
    options: [
      .init("--port", "N", "the port (default: 8080); 0 for any free one"),
      .init("--root-dir", "DIR", "the folder with mappings and __files (default: the current folder)"),
      .init("--collections", "FILE", "collections of items that clients can list, create, change and delete"),
      .init("--global-response-templating", nil, "read all texts of responses as templates"),
      .init(
        "--local-response-templating", nil,
        "read texts as templates where a stub has the transformer response-template (default)"),
      .init("--bind-address", "HOST", "the address; only 127.0.0.1, which is the default, is served"),
      .init("--no-request-journal", nil, "don't keep requests"),
      .init("--max-request-journal-entries", "N", "how many requests to keep (default: 10000)"),
      .init("--verbose", nil, "print each request to standard error"),
      .init("--disable-banner", nil, "accepted for scripts that start WireMock; there is no banner"),
      .init("--seed", "TEXT", "the seed of random values (default: mock)"),
      .init(
        "--clock", "KIND", "how time runs: system (default), frozen, ticking or scaled:RATE"),
      .init("--start", "INSTANT", "the start of the clock, in RFC 3339 format"),
      .init("--time-zone", "ID", "the time zone of dates in templates, such as Europe/London"),
    ],
    notes: """
      Example:

        diorama mock --port 8080 --root-dir tests/wiremock &
        curl http://127.0.0.1:8080/__admin/mappings

      Exit status: 0 stopped; 64 usage; 65 a mapping is invalid; 66 no such file;
      74 the port is taken.
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
        usage: "--bind-address: '\(address)' is not served, since the admin API needs no password; use 127.0.0.1",
        command: "mock")
    }
    let port = try options.number("--port", 0...65_535, command: "mock") ?? 8080
    let capacity = try options.number("--max-request-journal-entries", 0...1_000_000, command: "mock")
    let specification = try specification(options, port: port)
    // Before any thread is created.
    let signals = Signals()
    let service = try EnvironmentService()
    var hooks = EnvironmentHooks()
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
    blocking {
      await service.stop()
      _ = await environment.end(grace: .seconds(1))
    }
    return 0
  }

  private static func specification(_ options: Options, port: Int) throws -> EnvironmentSpecification {
    var configuration = EnvironmentConfiguration()
    configuration.name = "mock"
    configuration.mode = "mock"
    configuration.stubs = options.value("--root-dir") ?? "."
    configuration.collections = options.value("--collections")
    configuration.stubTemplates = options.has("--global-response-templating")
    configuration.seed = options.value("--seed")
    // Stubs hold no secrets; the admin API has a check of its own.
    configuration.allowedHosts = ["*"]
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
