import Basics
import Cassettes
import Foundation
import HTTPMessages

/// Other recorders and mock servers, from the Python environment made by `Config/venv importers`.
enum Peer {
  private static let environment = URL(fileURLWithPath: ".build/importers")

  /// WireMock with a folder of mappings, without its journal.
  static func wireMock(_ folder: URL) throws -> Server {
    let jars = FileManager.default.enumerator(at: environment, includingPropertiesForKeys: nil)
    let jar = jars?.compactMap { $0 as? URL }.first { $0.lastPathComponent.hasPrefix("wiremock-standalone-") }
    guard let jar else {
      throw CodedError(.inputOutput, "WireMock is missing; run Config/venv importers in the package folder")
    }
    return try start("WireMock", words: folder.appendingPathExtension("log")) { port in
      [
        "java", "-jar", jar.path, "--root-dir", folder.path, "--port", "\(port)", "--bind-address", "127.0.0.1",
        "--no-request-journal",
      ]
    }
  }

  /// `diorama mock` with a folder of mappings, without its journal.
  static func mock(_ command: URL, _ folder: URL) throws -> Server {
    try start("diorama mock", words: folder.appendingPathExtension("words")) { port in
      [command.path, "mock", "--root-dir", folder.path, "--port", "\(port)", "--no-request-journal"]
    }
  }

  /// mitmdump as a reverse proxy, with additional arguments.
  static func mitmproxy(before origin: String, _ arguments: [String], words: URL) throws -> Server {
    let command = environment.appendingPathComponent("bin/mitmdump")
    guard FileManager.default.isExecutableFile(atPath: command.path) else {
      throw CodedError(.inputOutput, "mitmdump is missing; run Config/venv importers in the package folder")
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

  /// Runs a program and waits until it listens.
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
        throw CodedError(.inputOutput, "\(name) did not start: \(try String(contentsOf: words, encoding: .utf8))")
      }
      usleep(20_000)
    }
    return Server(
      origin: "http://127.0.0.1:\(port)", workers: [process.processIdentifier], process: process, input: nil)
  }
}

/// A thousand requests that differ only in their JSON: recorded with one order of members, sent with another.
enum Orders {
  static let count = 1_000

  private static func recorded(_ index: Int) -> [String: Any] {
    ["item": index, "quantity": 2, "clinic": "north", "notes": ["a", ["urgent": true]] as [Any]]
  }

  /// Lua code for the request with the number `i`.
  static let request = #"""
    wrk.format("POST", "/orders", {["Content-Type"] = "application/json"},
      string.format('{ "notes": ["a", {"urgent": true}], "quantity": 2, "item": %d, "clinic": "north" }', i))
    """#

  /// Writes a HAR of the requests, and returns its path without extension.
  static func cassette(in scratch: Scratch) throws -> URL {
    let entries: [[String: Any]] = try (0..<count).map { index in
      let body = try JSONSerialization.data(withJSONObject: recorded(index), options: .sortedKeys)
      return [
        "startedDateTime": "2018-10-08T09:00:00.000Z", "time": 1,
        "request": [
          "method": "POST", "url": "http://127.0.0.1:9/orders", "headers": [[String: Any]](),
          "postData": ["mimeType": "application/json", "text": String(decoding: body, as: UTF8.self)],
        ] as [String: Any],
        "response": [
          "status": 200, "statusText": "OK", "headers": [["name": "Content-Type", "value": "application/json"]],
          "content": ["size": answer.utf8.count, "mimeType": "application/json", "text": answer] as [String: Any],
        ] as [String: Any],
      ]
    }
    let log: [String: Any] = ["version": "1.2", "creator": ["name": "bench", "version": "1"], "entries": entries]
    let base = scratch.file("orders")
    try JSONSerialization.data(withJSONObject: ["log": log]).write(to: base.appendingPathExtension("har"))
    return base
  }

  /// Writes a folder with the same requests for WireMock.
  static func mappings(in scratch: Scratch) throws -> URL {
    try writeMappings(
      (0..<count).map { index in
        ["method": "POST", "url": "/orders", "bodyPatterns": [["equalToJson": recorded(index)]]]
      }, named: "wiremock-orders", in: scratch)
  }

  /// Writes a folder for WireMock with one response to all requests.
  static func writeMappings(_ requests: [[String: Any]], named name: String, in scratch: Scratch) throws -> URL {
    let folder = scratch.file(name)
    let mappings = folder.appendingPathComponent("mappings")
    try FileManager.default.createDirectory(at: mappings, withIntermediateDirectories: true)
    let response: [String: Any] = ["status": 200, "body": answer, "headers": ["Content-Type": "application/json"]]
    let all = ["mappings": requests.map { ["request": $0, "response": response] }]
    try JSONSerialization.data(withJSONObject: all).write(to: mappings.appendingPathComponent("all.json"))
    return folder
  }
}

/// The same bodies for nginx, as files, and for Diorama, in a cassette, which stores bodies above 256 KiB as files too.
struct SizedBodies {
  static let sizes = [1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20]

  /// nginx's `root`.
  let folder: URL
  /// The cassette's path without extension.
  let cassette: URL

  init(in scratch: Scratch) throws {
    folder = scratch.file("sized.bodies")
    cassette = scratch.file("sized")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var interactions: [Interaction] = []
    for size in Self.sizes {
      let body = [UInt8](repeating: UInt8(ascii: "x"), count: size)
      try Data(body).write(to: folder.appendingPathComponent("\(size)"))
      interactions.append(
        Interaction(
          upstream: "api", startedAt: "2018-10-08T09:00:00Z", milliseconds: 1,
          request: RecordedRequest(
            method: "GET", url: "http://127.0.0.1:9/\(size)", headers: [:], body: .empty),
          response: RecordedResponse(
            status: 200, reason: "OK",
            headers: ["Content-Type": "application/octet-stream", "Content-Length": "\(size)"],
            body: size > 256 << 10 ? .file(name: "sized.bodies/\(size)", length: size) : .bytes(body))))
    }
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: 9)
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [CassetteHeader.Upstream(name: "api", origin: origin)])
    let file = HAR.write(Cassette(header: header, interactions: interactions))
    try Data(file).write(to: cassette.appendingPathExtension("har"))
  }
}
