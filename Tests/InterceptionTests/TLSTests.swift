import Basics
import Foundation
import HTTPMessages
import HTTPServer
import Interception
import TestSupport
import Testing

@Suite("Intercepted TLS", .timeLimit(.minutes(5)))
struct TLSTests {
  @Test("serves HTTP/1.1 with a certificate of the name, by TLS 1.2 and 1.3", arguments: ["1.2", "1.3"])
  func versions(version: String) async throws {
    try await withInterceptor { setting in
      let outcome = try await run(
        setting.curl(
          "api.example.com", "/a?b=1",
          ["--http1.1", "--tlsv\(version)", "--tls-max", version, "-w", " %{http_version}", "-d", "12345"]))
      #expect(outcome.text == "POST /a?b=1 api.example.com 5 1.1", "\(outcome.words)")
      let destination = Destination(
        address: "127.0.0.1", port: setting.port, name: "api.example.com", isTLS: true)
      #expect(setting.delegate.state.withLock { $0.destinations } == [destination])
      #expect(setting.delegate.state.withLock { $0.events }.isEmpty)
    }
  }

  @Test("uses the destination's name, or its address, for clients without SNI")
  func withoutServerName() async throws {
    try await withInterceptor { setting in
      let outcome = try await run([
        "curl", "-sS", "--noproxy", "*", "--cacert", setting.authority, "https://127.0.0.1:\(setting.port)/",
      ])
      #expect(outcome.text == "GET / 127.0.0.1:\(setting.port) 0", "\(outcome.words)")
      #expect(setting.delegate.state.withLock { $0.destinations.map(\.name) } == [nil])
      #expect(setting.delegate.state.withLock { $0.destinations.map(\.host) } == ["127.0.0.1"])
    }
  }

  @Test("tells a client that refuses the certificate apart", arguments: ["1.2", "1.3"])
  func refusedCertificate(version: String) async throws {
    try await withInterceptor { setting in
      let outcome = try await run([
        "curl", "-sS", "--noproxy", "*", "--tlsv\(version)", "--tls-max", version, "--connect-to",
        "pinned.example:443:127.0.0.1:\(setting.port)", "https://pinned.example/",
      ])
      #expect(outcome.status == 60)
      try await setting.delegate.state.wait { !$0.events.isEmpty }
      let destination = Destination(address: "127.0.0.1", port: setting.port, name: "pinned.example", isTLS: true)
      #expect(
        setting.delegate.state.withLock { $0.events } == [
          .certificateRefused(destination, cause: "the client sent the alert unknown_ca")
        ])
    }
  }

  @Test("takes a client that leaves after the handshake for one that refuses the certificate")
  func leavingClient() async throws {
    let delegate = TestDelegate(TestHandler.mirror)
    var destination = Destination(address: "127.0.0.1", port: 0, name: "pinned.example", isTLS: true)
    try await withInterceptor(delegate) { setting in
      let outcome = try await run([
        "openssl", "s_client", "-connect", "127.0.0.1:\(setting.port)", "-servername", "pinned.example",
      ])
      #expect(outcome.status == 0, "\(outcome.words)")
      destination.port = setting.port
    }
    // Another connection could have shown that the client trusts the certificate.
    #expect(
      delegate.state.withLock { $0.events } == [
        .certificateRefused(destination, cause: "it closed the connection without a request")
      ])
  }

  @Test("serves many requests on one connection, and eight clients at once")
  func keepAlive() async throws {
    try await withInterceptor { setting in
      try await withThrowingTaskGroup(of: Child.Outcome.self) { group in
        for client in 0..<8 {
          group.addTask {
            let url = "https://host\(client).example/[1-50]"
            return try await run(
              setting.curl("host\(client).example").dropLast() + ["-w", " %{num_connects}\n", url])
          }
        }
        for try await outcome in group {
          let lines = outcome.text.split(separator: "\n")
          #expect(lines.count == 50, "\(outcome.words)")
          #expect(lines.filter { $0.hasSuffix(" 1") }.count == 1)
        }
      }
      let destinations = setting.delegate.state.withLock { $0.destinations }
      #expect(Set(destinations.compactMap(\.name)).count == 8 && destinations.count == 8)
    }
  }

  @Test("carries large bodies in both directions")
  func largeBodies() async throws {
    let size = 20_000_000
    let handler = TestHandler { request in
      guard request.method == "GET" else { return try await TestHandler.mirror.respond(request) }
      let pipe = BytePipe()
      Task {
        for _ in 0..<size / 20_000 { try await pipe.write([UInt8](repeating: 66, count: 20_000)) }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    try await withInterceptor(TestDelegate(handler)) { setting in
      let download = try await run(
        setting.curl("big.example", "/", ["-o", "/dev/null", "-w", "%{size_download}"]))
      #expect(download.text == "\(size)", "\(download.words)")
      let upload = try await run(
        setting.curl("big.example", "/", ["-T", "-"]), input: .bytes([UInt8](repeating: 65, count: size)))
      #expect(upload.text == "PUT / big.example \(size)", "\(upload.words)")
    }
  }
}
