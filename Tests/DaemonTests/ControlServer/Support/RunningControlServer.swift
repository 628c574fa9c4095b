import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport

@testable import Daemon

/// A server behind a real listener on 127.0.0.1.
struct RunningControlServer: Sendable {
  static let token = "0123456789abcdef0123456789abcdef"

  let port: UInt16
  let server: ControlServer
  let operations: FakeOperations

  /// A request as text; what is nil is left out, what is not given is as it should be.
  func request(
    _ method: String, _ target: String, host: String?? = .none, authorization: String?? = .none,
    headers: [String] = [], body: String? = nil, type: String? = "application/json"
  ) -> String {
    var lines = ["\(method) \(target) HTTP/1.1"]
    if let host = host ?? "127.0.0.1:\(port)" { lines.append("Host: \(host)") }
    if let value = authorization ?? "Bearer \(Self.token)" { lines.append("Authorization: \(value)") }
    lines += headers
    if let body {
      if let type { lines.append("Content-Type: \(type)") }
      lines.append("Content-Length: \(body.utf8.count)")
    }
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  func send(_ request: String) async throws -> RawClient.Answer {
    let port = port
    return try await onThread { try RawClient(port: port).exchange(request) }
  }

  func call(
    _ method: String, _ target: String, headers: [String] = [], body: String? = nil, type: String? = "application/json"
  ) async throws -> RawClient.Answer {
    try await send(request(method, target, headers: headers, body: body, type: type))
  }
}

/// Serves the control API while `body` runs.
func withSurface<Value: Sendable>(
  _ operations: FakeOperations = FakeOperations(), keepAlive: Duration = .seconds(15),
  _ body: (RunningControlServer) async throws -> Value
) async throws -> Value {
  let server = try HTTPServer()
  let control = ControlServer(
    operations, token: Secret(RunningControlServer.token), version: "1.2.3", bodyLimit: 1 << 20, keepAlive: keepAlive)
  let reserved = try server.reserve()
  try reserved.serve(handler: control.handler(.loopback(port: reserved.port)))
  let served = RunningControlServer(port: reserved.port, server: control, operations: operations)
  do {
    let value = try await body(served)
    control.close()
    await server.stop(grace: .seconds(2))
    return value
  } catch {
    control.close()
    await server.stop(grace: .zero)
    throw error
  }
}

extension RawClient.Answer {
  var json: JSON { (try? JSON.parse(body)) ?? .null }
  /// The detail of a problem document; empty where it is none.
  var detail: String {
    headers["Content-Type"] == "application/problem+json" ? json["detail"]?.string ?? "" : ""
  }
}
