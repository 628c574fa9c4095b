import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

/// A service and a folder for cassettes, both removed at the end of a test.
struct ServiceFixture: Sendable {
  let service: EnvironmentService
  let folder: String

  func location(_ name: String = "c") -> CassetteLocation { CassetteLocation("\(folder)/\(name)") }

  /// An environment with the cassette `c`, if the mode needs one.
  func provision(
    _ mode: Mode, _ upstreams: KeyValuePairs<String, Origin> = [:],
    _ configure: (inout EnvironmentSpecification) -> Void = { _ in }
  ) throws(CodedError) -> Environment {
    var specification = EnvironmentSpecification(name: "a test", mode: mode)
    if mode.needsCassette { specification.cassette = location() }
    specification.upstreams = upstreams.map { CassetteHeader.Upstream(name: $0.key, origin: $0.value) }
    if FileManager.default.fileExists(atPath: "\(folder)/diorama.json") {
      var own = EnvironmentConfiguration()
      own.mode = mode.rawValue
      own.cassette = specification.cassette?.base
      let all = try ProjectFile.read("\(folder)/diorama.json").completing(own)
      specification.rules = all.matching
      specification.order = all.matching?.order
      specification.redaction = all.redaction ?? RedactionRules()
      specification.shift = all.dates
      specification.clock.kind = all.clock?.kind
    }
    configure(&specification)
    return try service.provision(specification)
  }

  /// Writes a project file for later environments. Each argument is the JSON of a setting.
  func project(matching: String? = nil, redaction: String? = nil, dates: String? = nil) throws {
    let settings = [("matching", matching), ("redaction", redaction), ("dates", dates)]
      .compactMap { name, text in text.map { "\"\(name)\": \($0)" } }
    try write("{\(settings.joined(separator: ", "))}", to: "diorama.json")
  }

  /// Lets a failed recording become the cassette.
  static func replaces(_ specification: inout EnvironmentSpecification) {
    specification.policies = CassettePolicies()
    specification.policies?.replacesAfterFailure = true
  }

  /// Records the closure's requests, and saves the cassette.
  @discardableResult
  func record(
    _ upstreams: KeyValuePairs<String, Origin>, _ use: (Environment) async throws -> Void
  ) async throws -> Report {
    try await run(.record, upstreams, use: use)
  }

  /// Provisions, uses and ends an environment; its cassette must be saved without errors.
  @discardableResult
  func run(
    _ mode: Mode, _ upstreams: KeyValuePairs<String, Origin> = [:],
    with configure: (inout EnvironmentSpecification) -> Void = { _ in }, use: (Environment) async throws -> Void
  ) async throws -> Report {
    let environment = try provision(mode, upstreams, configure)
    let result: Result<Void, any Error>
    do { result = .success(try await use(environment)) } catch { result = .failure(error) }
    let (report, sealed) = await environment.end()
    try result.get()
    _ = try sealed.get()
    return report
  }

  func read(_ name: String) throws -> String { try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(name)") }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
  }

  /// Writes the cassette `c` as another tool would: one response, with this text or with a body in a file.
  func writeCassette(url: String, text: String = "", file: String? = nil) throws {
    let content = file.map { #""size":0,"_file":"\#($0)""# } ?? #""size":\#(text.utf8.count),"text":"\#(text)""#
    try write(
      """
      {"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[
      {"startedDateTime":"2018-10-08T09:00:00.000Z","time":1,"request":{"method":"GET","url":"\(url)",\
      "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[],"headersSize":-1,"bodySize":0},\
      "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],\
      "headers":[{"name":"Content-Type","value":"text/plain"}],"content":{"mimeType":"text/plain",\(content)},\
      "redirectURL":"","headersSize":-1,"bodySize":-1},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}
      ]}}
      """, to: "c.har")
  }

  /// The complete lines of the partial file that are interactions.
  func acknowledged(_ name: String = "c") throws -> [String] {
    let text = try read("\(name).har.partial")
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    lines.removeLast()
    return lines.filter { $0.hasPrefix("{\"number\":") }.map(String.init)
  }

  /// The names in the folder, sorted.
  var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }
  /// The names in the folder of large bodies, sorted.
  var bodies: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/c.bodies")) ?? []).sorted() }
  func cassette() throws -> Cassette { try CassetteReader.read(location()).cassette }
}

func withService<Value: Sendable>(_ body: (ServiceFixture) async throws -> Value) async throws -> Value {
  let folder = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  // A starved machine may let a client wait for long.
  let service = try EnvironmentService(HTTPServer.Configuration(threads: 1, headSeconds: 300))
  do {
    let value = try await body(ServiceFixture(service: service, folder: folder))
    await service.stop(grace: .seconds(2))
    return value
  } catch {
    await service.stop(grace: .zero)
    throw error
  }
}

/// An environment with one upstream.
func withService<Value: Sendable>(
  _ upstream: TestUpstream, _ body: (ServiceFixture) async throws -> Value
) async throws -> Value {
  do {
    let value = try await withService(body)
    await upstream.stop()
    return value
  } catch {
    await upstream.stop()
    throw error
  }
}

/// An environment with a scripted upstream.
func withService<Value: Sendable>(
  script: @escaping ScriptedUpstream.Script, _ body: (ServiceFixture, ScriptedUpstream) async throws -> Value
) async throws -> Value {
  let upstream = try ScriptedUpstream(script)
  defer { upstream.stop() }
  return try await withService { try await body($0, upstream) }
}

/// Sends a request like an app, on its own connection.
func ask(_ port: UInt16, _ request: String) async throws -> RawClient.Answer {
  try await onThread { try RawClient(port: port).exchange(request) }
}

/// The text of a request.
func request(_ method: String, _ target: String, _ headers: Headers = [:], _ body: String? = nil) -> String {
  var text = "\(method) \(target) HTTP/1.1\r\n"
  if headers["Host"] == nil { text += "Host: localhost\r\n" }
  for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
  if let body { text += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" } else { text += "\r\n" }
  return text
}

extension Environment {
  /// Sends a request to an upstream's own endpoint.
  func get(_ target: String, _ headers: Headers = [:], method: String = "GET", of upstream: Int = 0) async throws
    -> RawClient.Answer
  {
    try await ask(upstreams[upstream].port, request(method, target, headers))
  }

  func post(_ target: String, _ body: String, type: String = "application/json", of upstream: Int = 0) async throws
    -> RawClient.Answer
  {
    try await ask(upstreams[upstream].port, request("POST", target, ["Content-Type": type], body))
  }

  /// The headers of a request for one of Diorama's own paths.
  func headers(token: String? = nil) -> Headers {
    ["Host": "127.0.0.1:\(mainPort)", "Authorization": "Bearer \(token ?? self.token)"]
  }

  /// Calls one of Diorama's own paths, with the token.
  func control(_ path: String, _ body: String, method: String = "POST", token: String? = nil) async throws
    -> RawClient.Answer
  {
    var headers = headers(token: token)
    headers.append("Content-Type", "application/json")
    return try await ask(mainPort, request(method, "/__diorama" + path, headers, body))
  }
}

extension RawClient.Answer {
  /// The body as JSON.
  var json: JSON {
    get throws { try body.withUnsafeBytes { try JSON.parse($0) } }
  }
}
