import Foundation

/// The recorders that we are measured beside, from the environment of Python that `Config/venv importers` makes.
enum Peer {
  private static let environment = URL(fileURLWithPath: ".build/importers")

  /// WireMock with a folder of mappings, spared its journal.
  static func wireMock(_ folder: URL) throws -> Server {
    let jars = FileManager.default.enumerator(at: environment, includingPropertiesForKeys: nil)
    let jar = jars?.compactMap { $0 as? URL }.first { $0.lastPathComponent.hasPrefix("wiremock-standalone-") }
    guard let jar else {
      throw BenchError("WireMock is not there; run Config/venv importers in the package's folder first")
    }
    return try start("WireMock", words: folder.appendingPathExtension("log")) { port in
      [
        "java", "-jar", jar.path, "--root-dir", folder.path, "--port", "\(port)", "--bind-address", "127.0.0.1",
        "--no-request-journal",
      ]
    }
  }

  /// mitmdump as a reverse proxy, with further arguments.
  static func mitmproxy(before origin: String, _ arguments: [String], words: URL) throws -> Server {
    let command = environment.appendingPathComponent("bin/mitmdump")
    guard FileManager.default.isExecutableFile(atPath: command.path) else {
      throw BenchError("mitmdump is not there; run Config/venv importers in the package's folder first")
    }
    return try start("mitmdump", words: words) { port in
      [
        command.path, "--quiet", "--set", "connection_strategy=lazy", "--mode", "reverse:\(origin)", "--listen-host",
        "127.0.0.1", "--listen-port",
        "\(port)",
        "--set", "confdir=\(words.path).home",
      ] + arguments
    }
  }

  /// Starts a program and waits until it listens.
  private static func start(_ name: String, words: URL, _ command: (UInt16) -> [String]) throws -> Server {
    let port = try freePort()
    try Data().write(to: words)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command(port)
    process.standardOutput = try FileHandle(forWritingTo: words)
    process.standardError = process.standardOutput
    try process.run()
    let deadline = ContinuousClock.now + .seconds(60)
    while (try? PlainConnection(port: port)) == nil {
      guard process.isRunning, .now < deadline else {
        process.terminate()
        throw BenchError("\(name) does not come up: \(try String(contentsOf: words, encoding: .utf8))")
      }
      usleep(20_000)
    }
    return Server(
      origin: "http://127.0.0.1:\(port)", workers: [process.processIdentifier], process: process, input: nil)
  }
}
