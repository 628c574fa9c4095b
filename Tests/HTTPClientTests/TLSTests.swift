import Foundation
import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("TLS upstreams", .timeLimit(.minutes(5)))
struct TLSTests {
  private let request = Request(method: "POST", target: "/echo", body: .bytes([UInt8]("secret".utf8)))

  @Test("are trusted through the configured authority")
  func trusted() async throws {
    try await withTLSUpstream { origin, certificate in
      let client = try HTTPClient(.init(certificateAuthorities: certificate, environment: [:]))
      for _ in 0..<3 {
        let response = try await client.send(request, to: origin)
        #expect(response.status == 200)
        #expect(response.headers["X-Connections"] == "1")
        #expect(try await response.body.collect(upTo: 99) == [UInt8]("secret".utf8))
      }
    }
  }

  @Test(
    "are trusted through the authority in a variable", arguments: ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"])
  func trustedByVariable(name: String) async throws {
    try await withTLSUpstream { origin, certificate in
      let isFolder = name.hasSuffix("DIR")
      let value = isFolder ? URL(filePath: certificate).deletingLastPathComponent().path : certificate
      let client = try HTTPClient(.init(environment: [name: value]))
      #expect(try await client.send(request, to: origin).status == 200)
    }
  }

  @Test("are not trusted without it, or under another name")
  func untrusted() async throws {
    try await withTLSUpstream { origin, certificate in
      let strict = try HTTPClient(.init(environment: [:]))
      let error = await #expect(throws: UpstreamError.self) { try await strict.send(request, to: origin) }
      #expect(error?.kind == .tls)
      let client = try HTTPClient(.init(certificateAuthorities: certificate, environment: [:]))
      let other = Origin(scheme: "https", host: "localhost", port: origin.port)
      let mismatch = await #expect(throws: UpstreamError.self) { try await client.send(request, to: other) }
      #expect(mismatch?.kind == .tls, "\(String(describing: mismatch))")
      let missing = try HTTPClient(.init(certificateAuthorities: "/nowhere.pem", environment: [:]))
      let unread = await #expect(throws: UpstreamError.self) { try await missing.send(request, to: origin) }
      #expect(unread?.kind == .tls, "\(String(describing: unread))")
    }
  }

  @Test("can have their own authority or skip verification, without affecting others")
  func ownTrust() async throws {
    try await withTLSUpstream { origin, certificate in
      let client = try HTTPClient(.init(environment: [:]))
      for trust in [Trust(authorities: certificate), Trust(isInsecure: true)] {
        let response = try await client.send(request, to: origin, trust: trust)
        #expect(response.status == 200)
      }
      // Connections and handles of those must not be used without these settings.
      let error = await #expect(throws: UpstreamError.self) { try await client.send(request, to: origin) }
      #expect(error?.kind == .tls)
      let advice = "a file and set SSL_CERT_FILE to its path"
      #expect(error?.message.contains(advice) == true, "\(String(describing: error))")
      let other = Origin(scheme: "https", host: "localhost", port: origin.port)
      #expect(try await client.send(request, to: other, trust: Trust(isInsecure: true)).status == 200)
    }
  }

  @Test("an error names the variable in effect")
  func namesVariable() async throws {
    try await withTLSUpstream { origin, certificate in
      let other = URL(filePath: certificate).deletingLastPathComponent().appending(path: "client.pem").path
      for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
        let client = try HTTPClient(.init(environment: [name: other]))
        let error = await #expect(throws: UpstreamError.self) { try await client.send(request, to: origin) }
        #expect(
          error?.message.contains("add its authority to \(other) (\(name))") == true,
          "\(String(describing: error))")
      }
    }
  }

  @Test("an error names an authorities file without certificates")
  func namesFile() async throws {
    try await withTLSUpstream { origin, certificate in
      let broken = URL(filePath: certificate).deletingLastPathComponent().appending(
        path: "broken.pem"
      ).path
      try "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n"
        .write(toFile: broken, atomically: false, encoding: .utf8)
      let client = try HTTPClient(.init(environment: [:]))
      let error = await #expect(throws: UpstreamError.self) {
        try await client.send(request, to: origin, trust: Trust(authorities: broken))
      }
      #expect(
        error?.message.contains("\(broken) cannot be read as certificates") == true,
        "\(String(describing: error))")
    }
  }

  @Test("get the configured client certificate")
  func clientCertificate() async throws {
    try await withTLSUpstream(asksForClient: true) { origin, certificate in
      let folder = URL(filePath: certificate).deletingLastPathComponent()
      let client = try HTTPClient(.init(environment: [:]))
      let trust = Trust(
        authorities: certificate, clientCertificate: folder.appending(path: "client.pem").path,
        clientKey: folder.appending(path: "client.key").path)
      #expect(try await client.send(request, to: origin, trust: trust).status == 200)
      let error = await #expect(throws: UpstreamError.self) {
        try await client.send(request, to: origin, trust: Trust(authorities: certificate))
      }
      #expect(error?.kind == .tls)
      #expect(
        error?.message.contains("configure the client certificate that the upstream requires") == true,
        "\(String(describing: error))")
    }
  }

  @Test("a plain HTTP server is reported")
  func plain() async throws {
    try await withUpstream { connection in
      _ = try connection.readSome(upTo: 9)
      try connection.write("HTTP/1.1 400 Bad\r\n\r\n")
    } _: { client, upstream in
      let origin = Origin(scheme: "https", host: "127.0.0.1", port: upstream.origin.port)
      let error = await #expect(throws: UpstreamError.self) { try await client.send(request, to: origin) }
      #expect(error?.kind == .tls)
    }
  }

  @Test("a broken connection is reported")
  func cut() async throws {
    try await withTLSUpstream { origin, certificate in
      let client = try HTTPClient(.init(certificateAuthorities: certificate, environment: [:]))
      let response = try await client.send(Request(method: "GET", target: "/cut"), to: origin)
      let error = await #expect(throws: UpstreamError.self) { try await response.body.collect(upTo: 99_999) }
      #expect(error?.kind == .cut)
    }
  }

  @Test("send 20 MB to a slow reader")
  func large() async throws {
    try await withTLSUpstream { origin, certificate in
      let client = try HTTPClient(.init(certificateAuthorities: certificate, environment: [:]))
      let response = try await client.send(Request(method: "GET", target: "/large"), to: origin)
      guard case .stream(let pipe, _) = response.body else { throw Failure(what: "no stream") }
      var count = 0
      var isSame = true
      while let chunk = try await pipe.read() {
        isSame = isSame && chunk.first == UInt8(truncatingIfNeeded: count >> 16)
        count += chunk.count
        await Task.yield()
      }
      #expect(count == 20 << 20)
      #expect(isSame)
    }
  }

  @Test("are reached through a proxy's tunnel, whose response is not returned")
  func tunnel() async throws {
    try await withTLSUpstream { origin, certificate in
      let proxy = try ScriptedUpstream { connection in
        guard let head = try connection.readHead(), head.hasPrefix("CONNECT 127.0.0.1:\(origin.port) ") else { return }
        try connection.write("HTTP/1.1 200 Established\r\nX-Proxy: 1\r\n\r\n")
        try connection.tunnel(toPort: origin.port)
      }
      defer { proxy.stop() }
      let client = try HTTPClient(
        .init(certificateAuthorities: certificate, environment: ["HTTPS_PROXY": proxy.origin.description]))
      let response = try await client.send(request, to: origin)
      #expect(response.status == 200)
      #expect(response.headers["X-Proxy"] == nil)
      #expect(try await response.body.collect(upTo: 99) == [UInt8]("secret".utf8))
      #expect(proxy.connectionCount == 1)
      client.shutdown()
    }
  }
}
