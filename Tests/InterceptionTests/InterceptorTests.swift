import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import Interception

@Suite("The interceptor", .timeLimit(.minutes(5)))
struct InterceptorTests {
  @Test("serves plain HTTP with the destination's address and the name it was assigned to")
  func plain() async throws {
    try await withInterceptor(destination: { _ in Destination(address: "198.18.0.1", port: 80) }) { setting in
      _ = setting.interceptor.core.names.address(of: "api.example")
      let texts = try await onThread {
        let client = try RawClient(port: setting.port)
        return try (0..<2).map { _ in try client.exchange("GET /x HTTP/1.1\r\nHost: api.example\r\n\r\n").text }
      }
      #expect(texts == ["GET /x api.example 0", "GET /x api.example 0"])
      #expect(
        setting.delegate.state.withLock { $0.destinations }
          == [Destination(address: "198.18.0.1", port: 80, name: "api.example")])
    }
  }

  @Test("is an HTTP and HTTPS proxy, for plain and encrypted origins")
  func tunnels() async throws {
    try await withInterceptor { setting in
      for scheme in ["http", "https"] {
        for url in ["http://a.example/1", "https://a.example/2"] {
          let outcome = try await run([
            "curl", "-sS", "--noproxy", "", "--cacert", setting.authority, "--proxy-cacert", setting.authority,
            "--proxytunnel", "-x", "\(scheme)://127.0.0.1:\(setting.port)", url,
          ])
          #expect(outcome.text == "GET /\(url.last ?? " ") a.example 0", "\(scheme) \(url): \(outcome.words)")
        }
      }
      let destinations = setting.delegate.state.withLock { $0.destinations }
      #expect(
        destinations.map(\.description)
          == Array(repeating: ["a.example:80", "a.example:443"], count: 2).flatMap(\.self))
      #expect(destinations.map(\.isTLS) == [false, true, false, true])
    }
  }

  @Test("refuses tunnels inside tunnels without end")
  func endlessTunnels() async throws {
    try await withInterceptor { setting in
      let answers = try await onThread {
        let client = try RawClient(port: setting.port)
        try client.send(String(repeating: "CONNECT a:1 HTTP/1.1\r\n\r\n", count: 2_000))
        return String(decoding: try client.receiveAll(), as: UTF8.self)
      }
      #expect(answers.hasSuffix("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
    }
  }

  @Test("closes silent connections when there is no room for others")
  func silentConnections() async throws {
    var settings = Interceptor.Configuration()
    settings.silence = .milliseconds(1)
    try await withInterceptor(server: .init(maximumConnections: 4), settings: settings) { setting in
      let status = try await onThread {
        let silent = try (0..<4).map { _ in try RawClient(port: setting.port) }
        defer { for client in silent { client.close() } }
        return try RawClient(port: setting.port).exchange("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").status
      }
      #expect(status == 200)
    }
  }

  @Test("refuses a CONNECT without a port")
  func badTunnel() async throws {
    try await withInterceptor { setting in
      let status = try await onThread {
        try RawClient(port: setting.port).exchange("CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n").status
      }
      #expect(status == 400)
    }
    #expect(InterceptedConnection.hostAndPort("[2001:db8::1]:443").map { "\($0)" } == "(\"2001:db8::1\", 443)")
    for bad in ["a", "a:", "a:0", "a:65536", ":1", "2001:db8::1", "a:b:1"] {
      #expect(InterceptedConnection.hostAndPort(bad) == nil)
    }
  }

  @Test("passes on an upgraded connection over TLS")
  func upgrade() async throws {
    let handler = TestHandler { _ in
      var response = Response(status: 101, headers: ["Upgrade": "echo", "Connection": "Upgrade"])
      response.upgrade = { duplex in
        Task {
          var bytes: [UInt8] = []
          while bytes.count < 5, let piece = try await duplex.incoming.read() { bytes += piece }
          try await duplex.outgoing.write(Array("echo: ".utf8) + bytes)
          duplex.outgoing.finish()
        }
      }
      return response
    }
    try await withInterceptor(TestDelegate(handler)) { setting in
      let outcome = try await run(
        ["openssl", "s_client", "-quiet", "-connect", "127.0.0.1:\(setting.port)", "-servername", "ws.example"],
        input: .bytes(
          Array("GET / HTTP/1.1\r\nHost: ws.example\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nhello".utf8)))
      #expect(outcome.text.hasPrefix("HTTP/1.1 101 "), "\(outcome.words)")
      #expect(outcome.text.hasSuffix("echo: hello"))
    }
  }

  @Test("resets the client's connection when the server's is reset, and only then")
  func reset() async throws {
    let handler = TestHandler { request in
      var response = Response(status: 200, headers: ["Connection": "close"])
      if request.target == "/reset" { response.fault = .reset }
      return response
    }
    try await withInterceptor(TestDelegate(handler)) { setting in
      let reset = try await run(setting.curl("a.example", "/reset", ["--http1.1"]))
      #expect(reset.status == 56, "\(reset.words)")
      let closed = try await run(setting.curl("a.example", "/", ["--http1.1"]))
      #expect(closed.status == 0, "\(closed.words)")
      // By HTTP/2, the stream is reset.
      let stream = try await run(setting.curl("a.example", "/reset"))
      #expect(stream.status == 92, "\(stream.words)")
    }
  }

  @Test("relays other protocols, by name, or closes them")
  func others() async throws {
    let (listener, port) = try tcpListener()
    defer { close(listener) }
    for target in [RelayTarget(host: "127.0.0.1", port: port), nil] {
      let delegate = TestDelegate(TestHandler.mirror, relayingTo: target)
      try await withInterceptor(delegate) { setting in
        async let echo: Void = onThread {
          guard target != nil else { return }
          let peer = RawClient(connected: accept(listener, nil, nil))
          // Half-closed in both directions.
          try peer.send(peer.receiveAll())
        }
        let received = try await onThread {
          let client = try RawClient(port: setting.port)
          try client.send("SSH-2.0-test\r\n")
          if target != nil { client.endWriting() }
          return (try? client.receiveAll()) ?? []
        }
        try await echo
        #expect(String(decoding: received, as: UTF8.self) == (target == nil ? "" : "SSH-2.0-test\r\n"))
        #expect(delegate.state.withLock { $0.others } == ["127.0.0.1:\(setting.port) false SSH"])
      }
    }
  }

  @Test("relays the first bytes of a server while the client is silent")
  func serverFirst() async throws {
    let (listener, port) = try tcpListener()
    defer { close(listener) }
    let delegate = TestDelegate(TestHandler.mirror, relayingTo: RelayTarget(host: "127.0.0.1", port: port))
    var settings = Interceptor.Configuration()
    settings.silence = .milliseconds(1)
    try await withInterceptor(delegate, settings: settings) { setting in
      async let server: Void = onThread {
        let peer = RawClient(connected: accept(listener, nil, nil))
        try peer.send("220 mail.example ESMTP\r\n")
        _ = try peer.receiveAll()
      }
      let greeting = try await onThread {
        let client = try RawClient(port: setting.port)
        return try client.receive()
      }
      #expect(String(decoding: greeting, as: UTF8.self) == "220 mail.example ESMTP\r\n")
      try await server
      let destination = Destination(address: "127.0.0.1", port: setting.port)
      #expect(delegate.state.withLock { $0.events } == [.relayed(destination, protocol: "SMTP")])
    }
  }

  @Test("relays encrypted what ALPN says is not HTTP, or refuses it with an alert")
  func otherTLS() async throws {
    try await withInterceptor { setting in
      let alert = try await onThread {
        let client = try RawClient(port: setting.port)
        try client.send(Sample.record(Sample.hello(name: "mq.example", protocols: ["mqtt"])))
        return try client.receiveAll()
      }
      #expect(alert == [21, 3, 3, 0, 2, 2, 120])
      #expect(setting.delegate.state.withLock { $0.others } == ["mq.example:\(setting.port) true TLS with ALPN mqtt"])
    }
  }

  @Test("serves HTTP/2 over TLS and in plain text, and HTTP/1.1 to clients that ask for it")
  func http2() async throws {
    try await withInterceptor { setting in
      let offered = try await run(setting.curl("h2.example", "/", ["--http2", "-w", " %{http_version}"]))
      #expect(offered.text == "GET / h2.example 0 2")
      let old = try await run(setting.curl("h2.example", "/", ["--http1.1", "-w", " %{http_version}"]))
      #expect(old.text == "GET / h2.example 0 1.1")
      let plain = try await run([
        "curl", "-sS", "--http2-prior-knowledge", "-w", " %{http_version}", "http://127.0.0.1:\(setting.port)/plain",
      ])
      #expect(plain.text == "GET /plain 127.0.0.1:\(setting.port) 0 2")
    }
  }

  @Test("reads a handshake that arrives in single bytes")
  func singleBytes() async throws {
    let (listener, port) = try tcpListener()
    defer { close(listener) }
    try await withInterceptor { setting in
      async let proxy: Void = onThread {
        let client = RawClient(connected: accept(listener, nil, nil))
        let server = try RawClient(port: setting.port)
        let hello = try client.receive()
        for byte in hello { try server.send([byte]) }
        // The rest in larger pieces, from both sides.
        var states = [client, server].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        while poll(&states, 2, 60_000) > 0 {
          for (state, (from, to)) in zip(states, [(client, server), (server, client)]) where state.revents != 0 {
            let bytes = try from.receive()
            guard !bytes.isEmpty else { return }
            try to.send(bytes)
          }
        }
      }
      let outcome = try await run([
        "curl", "-sS", "--noproxy", "*", "--cacert", setting.authority, "--connect-to",
        "a.example:443:127.0.0.1:\(port)",
        "https://a.example/",
      ])
      #expect(outcome.text == "GET / a.example 0", "\(outcome.words)")
      try? await proxy
    }
  }

  @Test("closes connections with garbage, and survives those that end early")
  func garbage() async throws {
    try await withInterceptor { setting in
      let hello = Sample.record(Sample.hello(name: "a.example", protocols: ["http/1.1"]))
      let starts: [[UInt8]] = [
        [], [0], [22], [22, 3], Array(hello.dropLast()), [22, 3, 1, 0, 0], Array("GE".utf8),
        Array("CONNECT a:1 HT".utf8),
        [UInt8](repeating: 0xFF, count: 5000), hello + [1, 2, 3],
      ]
      for bytes in starts {
        _ = try await onThread {
          let client = try RawClient(port: setting.port)
          try client.send(bytes)
          client.endWriting()
          return (try? client.receiveAll()) ?? []
        }
      }
      let outcome = try await run(setting.curl("a.example"))
      #expect(outcome.text == "GET / a.example 0", "\(outcome.words)")
    }
  }

  @Test("closes all connections when it stops")
  func stopping() async throws {
    let client = Guarded<RawClient?>(nil)
    let silent = Guarded<RawClient?>(nil)
    try await withInterceptor { setting in
      let made = try await onThread {
        let made = (try RawClient(port: setting.port), try RawClient(port: setting.port))
        _ = try made.0.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return made
      }
      client.withLock { $0 = made.0 }
      silent.withLock { $0 = made.1 }
      await setting.interceptor.stop()
      #expect(setting.interceptor.core.open.withLock { $0 } == 0)
    }
    for guarded in [client, silent] {
      let client = try #require(guarded.withLock { $0 })
      #expect(try await onThread { (try? client.receiveAll()) ?? [] }.isEmpty)
    }
  }

  @Test("closes an idle connection when another client waits")
  func room() async throws {
    try await withInterceptor(server: .init(maximumConnections: 1)) { setting in
      let texts = try await onThread {
        let first = try RawClient(port: setting.port)
        let text = try first.exchange("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n").text
        let second = try RawClient(port: setting.port)
        try second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        let rest = try first.receiveAll()
        first.close()
        return try [text, String(decoding: rest, as: UTF8.self), second.receiveAnswer().text]
      }
      #expect(texts == ["GET /1 a 0", "", "GET /2 a 0"])
    }
  }

  @Test("limits the time for a ClientHello and for a request's first line, but not for the first byte")
  func slow() async throws {
    var settings = Interceptor.Configuration()
    settings.handshakeLimit = .milliseconds(50)
    try await withInterceptor(settings: settings) { setting in
      let silent = try await onThread { try RawClient(port: setting.port) }
      for start in [[22, 3, 1], Array("GET".utf8)] {
        let rest = try await onThread {
          let client = try RawClient(port: setting.port)
          try client.send(start)
          return (try? client.receiveAll()) ?? []
        }
        #expect(rest.isEmpty)
      }
      let text = try await onThread { try silent.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text }
      #expect(text == "GET / a 0")
    }
  }

  @Test("makes clients wait above the connection limit")
  func limit() async throws {
    try await withInterceptor(server: .init(maximumConnections: 1)) { setting in
      let texts = try await onThread {
        let first = try RawClient(port: setting.port)
        let text = try first.exchange("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n").text
        let second = try RawClient(port: setting.port)
        try second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        first.close()
        return try [text, second.receiveAnswer().text]
      }
      #expect(texts == ["GET /1 a 0", "GET /2 a 0"])
    }
  }
}

@Suite("First bytes")
struct FirstBytesTests {
  @Test(
    "name the protocol of a client",
    arguments: [
      ("SSH-2.0-x\r\n", "SSH"), ("*1\r\n$4\r\nPING\r\n", "Redis"), ("AMQP\u{0}\u{0}\u{9}\u{1}", "AMQP"),
      ("\u{0}\u{0}\u{0}\u{8}\u{4}\u{D2}\u{16}\u{2F}", "PostgreSQL"), ("\u{10}\u{E}\u{0}\u{4}MQTT\u{4}", "MQTT"),
      ("EHLO a\r\n", "SMTP"), ("OPTIONS rtsp://a RTSP/1.0\r\n", "RTSP"), ("get key\r\n", "memcached"),
      ("CONNECT {}\r\n", "NATS"), ("002egit-upload-pack /a\u{0}", "git"), ("\u{1}\u{2}", "unknown protocol"),
    ])
  func clients(bytes: String, name: String) {
    // Characters up to 255 are bytes.
    #expect(parse(bytes.unicodeScalars.map { UInt8($0.value) }) == .other(name))
  }

  @Test("are incomplete until they can be told apart")
  func incomplete() {
    for text in [
      "", "G", "GET", "GET ", "OPTIONS *", "PRI * HTTP/2.0\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n", "\r\n",
    ] {
      #expect(parse(Array(text.utf8)) == .incomplete, "\(text)")
    }
    for text in ["GET /", "\r\nGET /", "M-SEARCH * HTTP/1.1\r\n", "GET http://a", "OPTIONS * HTTP/1.1\r"] {
      #expect(parse(Array(text.utf8)) == .http1, "\(text)")
    }
    #expect(parse([22]) == .incomplete)
    #expect(parse([22, 3]) == .tls)
    let head = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"
    #expect(
      parse(Array((head + "rest").utf8)) == .connect(authority: "a.example:443", headLength: head.utf8.count))
  }

  private func parse(_ bytes: [UInt8]) -> FirstBytes { bytes.withUnsafeBytes { FirstBytes(ofClient: $0) } }
}
