import Basics
import Foundation
import HTTPServer
import Interception
import TestSupport
import Testing

@Suite("Connections without a request", .timeLimit(.minutes(5)))
struct UnusedConnectionTests {
  @Test("are reported when they end, if the client was silent and nothing is relayed")
  func silent() async throws {
    var settings = Interceptor.Configuration()
    settings.silence = .milliseconds(1)
    try await withInterceptor(settings: settings) { setting in
      let client = try RawClient(port: setting.port)
      try await setting.delegate.state.wait { $0.silent == 1 }
      client.endWriting()
      try await setting.delegate.state.wait { !$0.events.isEmpty }
      let events = setting.delegate.state.withLock { $0.events }
      #expect(events == [.silent(Destination(address: "127.0.0.1", port: setting.port, name: nil, isTLS: false))])
    }
  }

  @Test("are closed if the client was silent and the host is denied")
  func denied() async throws {
    var settings = Interceptor.Configuration()
    settings.silence = .milliseconds(1)
    let delegate = TestDelegate(TestHandler.mirror)
    delegate.state.withLock { $0.refusesSilent = true }
    try await withInterceptor(delegate, settings: settings) { setting in
      let client = try RawClient(port: setting.port)
      let rest = try await onThread { try client.receiveAll() }
      #expect(rest.isEmpty)
      #expect(delegate.state.withLock { $0.events } == [])
    }
  }

  @Test("are of another protocol if the client leaves before a request line ends")
  func incomplete() async throws {
    try await withInterceptor { setting in
      let client = try RawClient(port: setting.port)
      try client.send("word")
      client.endWriting()
      try await setting.delegate.state.wait { !$0.others.isEmpty }
      let others = setting.delegate.state.withLock { $0.others }
      #expect(others == ["127.0.0.1:\(setting.port) false unknown protocol"])
    }
  }

  @Test(
    "are reported as perhaps not trusted if other connections show trust in the certificate, by both versions",
    arguments: ["--http1.1", "--http2"], [true, false])
  func spare(version: String, isFirst: Bool) async throws {
    let delegate = TestDelegate(TestHandler.mirror)
    var destination = Destination(address: "127.0.0.1", port: 0, name: "spare.example", isTLS: true)
    try await withInterceptor(delegate) { setting in
      destination.port = setting.port
      func request() async throws {
        let outcome = try await run(setting.curl("spare.example", "/", [version]))
        #expect(outcome.status == 0, "\(outcome.words)")
      }
      if !isFirst { try await request() }
      let spare = try await run([
        "openssl", "s_client", "-connect", "127.0.0.1:\(setting.port)", "-servername", "spare.example",
      ])
      #expect(spare.status == 0, "\(spare.words)")
      if isFirst { try await request() }
    }
    #expect(delegate.state.withLock { $0.events } == [.unused(destination, count: 1)])
  }

  @Test("are refused certificates if OpenSSL sends an alert, encrypted or not", arguments: ["-tls1_2", "-tls1_3"])
  func alert(version: String) async throws {
    try await withInterceptor { setting in
      _ = try await run([
        "openssl", "s_client", version, "-verify_return_error", "-connect", "127.0.0.1:\(setting.port)", "-servername",
        "pinned.example",
      ])
      try await setting.delegate.state.wait { !$0.events.isEmpty }
      let destination = Destination(address: "127.0.0.1", port: setting.port, name: "pinned.example", isTLS: true)
      #expect(
        setting.delegate.state.withLock { $0.events } == [
          .certificateRefused(destination, cause: "the client sent the alert unknown_ca")
        ])
    }
  }
}
