import Basics
@testable import CassetteConversion
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Importing VCR and vcrpy")
struct VCRImportTests {
  private func read(_ text: String, as format: ImportFormat = .vcr) throws -> ForeignCassette {
    try ForeignCassette.read(Array(text.utf8), name: "a.yml", as: format)
  }

  private func interaction(body: String) -> String {
    """
    http_interactions:
    - request: {method: get, uri: http://h/}
      response:
        status: {code: 200, message: OK}
        headers: {Date: ["Tue, 01 Nov 2011 04:58:44 GMT"]}
        body: \(body)
    """
  }

  @Test("reads a VCR cassette: requests, bodies in all forms, dates")
  func vcr() throws {
    let foreign = try Fixture.vcr.read()
    #expect(foreign.format == .vcr)
    let interactions = foreign.interactions
    #expect(interactions.map(\.request.method) == ["GET", "POST", "GET", "GET"])
    #expect(interactions.map(\.response.status) == [200, 201, 200, 200])
    #expect(interactions.map(\.response.reason) == ["OK", "", "OK", "OK"])
    #expect(interactions[0].startedAt == "2011-11-01T04:58:44Z")
    #expect(interactions[0].response.headers.all("Set-Cookie") == ["a=1; path=/", "b=2"])
    #expect(interactions[0].response.body.text == "{\"name\":\"Zo\u{EB}\"}")
    #expect(interactions[1].request.url == "http://api.example.com/users")
    #expect(interactions[1].request.body.text == "name=a+b")
    #expect(interactions[1].response.body.text == "hello")
    #expect(interactions[1].response.headers["Content-Encoding"] == "gzip")
    #expect(interactions[2].request.body.text == "{\"old\": true}")
    #expect(interactions[2].response.body == .bytes([0x64, 0xE9, 0x6A, 0xE0, 0x20, 0x76, 0x75]))
    #expect(interactions[3].response.body == .bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00]))
  }

  @Test("lists what is lost of a VCR cassette")
  func vcrLosses() throws {
    #expect(
      try Fixture.vcr.read().lines == [
        "recorded_with is left out", "entry 2: response.adapter_metadata is left out",
        "entry 2: the URL's fragment is left out, since it is never sent",
        "entry 2: user and password in the URL are left out",
      ])
  }

  @Test("reads what vcrpy writes, in YAML and in JSON", arguments: [Fixture.vcrpy, .vcrpyJSON])
  func vcrpy(_ fixture: Fixture) throws {
    let foreign = try fixture.read()
    #expect(foreign.format == .vcrpy)
    #expect(foreign.losses == [])
    let first = try #require(foreign.interactions.first)
    #expect(first.request.url == "http://api.example.com/json?q=a%20b&q=c+d&r=%7E")
    #expect(first.response.headers.all("Set-Cookie") == ["a=1; Path=/", "b=2"])
    let body = "{\"total\": 0.00, \"name\": \"Zo\u{EB} \u{1F600}\", \"self\": \"http://api.example.com/json\"}"
    #expect(first.response.body.text == body)
    #expect(first.startedAt.hasPrefix("2026-11-22T"))
    let order = try #require(foreign.interactions.first { $0.request.method == "POST" })
    #expect(order.request.body.text == "{\"item\": \"t\u{E9}\", \"price\": 0.00, \"tags\": []}")
  }

  @Test("reads go-vcr's, in both of its versions")
  func goVCR() throws {
    let first = """
      ---
      version: 1
      interactions:
      - request:
          body: a=1
          form: {a: ["1"]}
          headers: {Content-Type: [application/x-www-form-urlencoded]}
          url: http://h:81/x?q=1
          method: POST
        response:
          body: "{}"
          headers: {Set-Cookie: [a=1, b=2], Date: ["Tue, 01 Nov 2011 04:58:44 GMT"]}
          status: 201 Created at last
          code: 201
          duration: ""
      """
    let second = """
      ---
      version: 2
      interactions:
          - id: 0
            request:
              proto: HTTP/1.1
              proto_major: 1
              proto_minor: 1
              content_length: 3
              transfer_encoding: []
              trailer: {}
              host: h:81
              remote_addr: ""
              request_uri: ""
              body: a=1
              form: {a: ["1"]}
              headers: {Content-Type: [application/x-www-form-urlencoded]}
              url: http://h:81/x?q=1
              method: POST
            response:
              proto: HTTP/2.0
              proto_major: 2
              proto_minor: 0
              transfer_encoding: []
              trailer: {}
              content_length: 2
              uncompressed: true
              body: "{}"
              headers: {Set-Cookie: [a=1, b=2], Date: ["Tue, 01 Nov 2011 04:58:44 GMT"]}
              status: 201 Created at last
              code: 201
              duration: 12.5ms
      """
    let losses = [
      first: [],
      second: [
        "entry 1: response.duration is left out", "entry 1: HTTP version HTTP/2.0: it is replayed over HTTP/1.1",
      ],
    ]
    for text in [first, second] {
      let foreign = try ForeignCassette.read(Array(text.utf8), name: "a.yaml")
      #expect(foreign.format == .goVCR)
      #expect(foreign.lines == losses[text])
      let interaction = try #require(foreign.interactions.first)
      #expect(interaction.request.url == "http://h:81/x?q=1")
      #expect(interaction.request.body.text == "a=1")
      #expect(interaction.response.status == 201)
      #expect(interaction.response.reason == "Created at last")
      #expect(interaction.response.headers.all("Set-Cookie") == ["a=1", "b=2"])
      #expect(interaction.response.body.text == "{}")
      #expect(interaction.startedAt == "2011-11-01T04:58:44Z")
    }
  }

  @Test("reads what vcrpy wrote before version 1.0, in JSON and in YAML")
  func oldVCRpy() throws {
    let json = #"""
      [{"request": {"protocol": "https", "host": "h", "port": 8443, "path": "/a?b=1", "method": "GET", "body": null, "headers": {"Accept": "*/*"}},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": ["Server: x: y\r\n", "Set-Cookie: a=1\r\n", "Set-Cookie: b=2\r\n"],
        "body": {"string": "hello"}}}]
      """#
    let yaml = """
      - request: !!python/object:vcr.request.Request
          body: null
          headers: !!python/object/apply:__builtin__.frozenset
          - - !!python/tuple [Accept, '*/*']
          host: h
          method: GET
          path: /a?b=1
          port: 8443
          protocol: https
        response:
          body: {string: !!python/unicode hello}
          headers: ["Server: x: y\\r\\n", "Set-Cookie: a=1\\r\\n", "Set-Cookie: b=2\\r\\n"]
          status: {code: 200, message: OK}
      """
    for text in [json, yaml] {
      let foreign = try ForeignCassette.read(Array(text.utf8), name: "a")
      #expect(foreign.format == .vcrpy)
      let interaction = try #require(foreign.interactions.first)
      #expect(interaction.request.url == "https://h:8443/a?b=1")
      #expect(interaction.request.headers == ["Accept": "*/*"])
      #expect(interaction.response.headers.fields.map(\.value) == ["x: y", "a=1", "b=2"])
      #expect(interaction.response.body.text == "hello")
    }
  }

  @Test("decodes content codings, and keeps binary bodies byte for byte")
  func vcrpyBodies() throws {
    let interactions = try Fixture.vcrpy.read().interactions
    let zipped = try #require(interactions.first { $0.request.url.hasSuffix("/gzip") })
    #expect(zipped.response.headers["Content-Encoding"] == "gzip")
    #expect(zipped.response.body.text == String(repeating: "squeezed ", count: 100))
    let latin = try #require(interactions.first { $0.request.url.hasSuffix("/latin1") })
    #expect(latin.response.body == .bytes([0x64, 0xE9, 0x6A, 0xE0, 0x20, 0x76, 0x75]))
    let upload = try #require(interactions.first { $0.request.method == "PUT" })
    #expect(upload.request.body == .bytes([0, 255, 128, 10]))
  }

  @Test(
    "reads bodies in the formats of both tools and their older versions",
    arguments: [
      ("plain", "plain"), ("'12'", "12"), ("! '{\"a\": 1}'", "{\"a\": 1}"), ("null", ""), ("~", ""), ("''", ""),
      ("'null'", "null"), ("!!python/unicode 'text'", "text"), ("!!binary aGVsbG8=", "hello"),
      ("{string: text}", "text"), ("{string: null}", ""), ("{encoding: UTF-8, base64_string: aGVsbG8=}", "hello"),
      ("{encoding: Shift_JIS, string: plain}", "plain"), ("\"a\\r\\nb\\u00eb\"", "a\r\nb\u{EB}"),
    ])
  func bodies(_ body: String, _ text: String) throws {
    let foreign = try read(interaction(body: body))
    #expect(foreign.interactions.first?.response.body.text == text)
    #expect(foreign.losses == [])
  }

  @Test("keeps bodies as sent that decode to too much, alone or in total")
  func decodedLimit() throws {
    func coded(_ count: Int) throws -> String {
      let encoder = try #require(ContentCodings(header: "gzip")).encoder()
      var bytes: [UInt8] = []
      for _ in 0..<count { bytes += try encoder.push([UInt8](repeating: 0, count: 1 << 20), flush: false) }
      return Base64.encode(try bytes + encoder.finish())
    }
    func entry(_ path: String, _ body: String) -> String {
      """
      - request: {method: get, uri: http://h/\(path), headers: {}}
        response: {status: {code: 200, message: OK}, headers: {Content-Encoding: gzip}, body: {base64_string: \(body)}}

      """
    }
    let usual = try coded(60)
    let entries = try entry("bomb", coded(70)) + (0..<5).map { entry("\($0)", usual) }.joined()
    let foreign = try read("http_interactions:\n" + entries)
    #expect(foreign.interactions.map(\.response.isBodyAsSent) == [true, false, false, false, false, true])
    #expect(foreign.interactions.allSatisfy { $0.response.headers["Content-Encoding"] == "gzip" })
    let loss = "the body is too large once decoded: it is replayed as it is, and secrets in it are not redacted"
    #expect(foreign.losses.first { $0.text == loss }?.places == [1, 6])
  }

  @Test("reads aliases, which PyYAML writes for repeated values")
  func aliases() throws {
    let foreign = try read(
      """
      http_interactions:
      - request: {method: get, uri: http://h/a, headers: &id001 {X: [one, two]}}
        response: {status: &s {code: 200, message: OK}, headers: {Date: ["Tue, 01 Nov 2011 04:58:44 GMT"]}}
      - request: {method: get, uri: http://h/b, headers: *id001}
        response: {status: *s, headers: {Date: "Tue, 01 Nov 2011 04:58:44 GMT"}}
      """)
    #expect(foreign.interactions.map { $0.request.headers.all("X") } == [["one", "two"], ["one", "two"]])
    #expect(foreign.losses == [])
  }

  @Test("reads httpx responses as older versions of vcrpy wrote them")
  func httpx() throws {
    let foreign = try read(
      """
      version: 1
      interactions:
      - request: {method: GET, uri: http://h/, body: ''}
        response: {status_code: 404, http_version: HTTP/1.1, headers: [[content-encoding, gzip]], content: decoded}
      """, as: .vcrpy)
    let interaction = try #require(foreign.interactions.first)
    #expect(interaction.response.status == 404)
    #expect(interaction.response.body.text == "decoded")
    #expect(interaction.response.headers.fields == [])
    #expect(foreign.lines.contains { $0.contains("Content-Encoding is left out") })
    #expect(foreign.lines.contains { $0.hasSuffix(Losses.noTime) })
  }

  @Test("removes a coding that the body does not have, and keeps a truncated body unchanged")
  func codings() throws {
    func zipped(_ body: String) throws -> ForeignCassette {
      try read(interaction(body: body).replacing("headers: {", with: "headers: {Content-Encoding: [gzip], "))
    }
    let decoded = try zipped("readable")
    #expect(decoded.interactions[0].response.headers["Content-Encoding"] == nil)
    #expect(decoded.interactions[0].response.body.text == "readable")
    #expect(decoded.lines.contains { $0.contains("Content-Encoding is left out") })
    let broken = try zipped("!!binary H4sIAAAAAAAAA8tI")
    #expect(broken.interactions[0].response.isBodyAsSent)
    #expect(broken.lines == ["entry 1: the body is not whole gzip: it is replayed as it is"])
  }

  @Test(
    "leaves out and lists what cannot be replayed",
    arguments: [
      ("uri: http://h/", "uri: ftp://h/", "the URL 'ftp://h/' is not one of http or https: the entry is left out"),
      (
        "uri: http://h/", "uri: 'http:///x'", "the URL 'http:///x' has no host that can be asked: the entry is left out"
      ),
      ("code: 200", "code: 100", "status 100 is not a final response's: the entry is left out"),
      ("method: get", "method: 'g t'", "'G T' is no method: the entry is left out"),
    ])
  func unplayable(_ old: String, _ new: String, _ line: String) throws {
    let foreign = try read(interaction(body: "x").replacing(old, with: new))
    #expect(foreign.interactions.isEmpty)
    #expect(foreign.lines == ["entry 1: \(line)"])
  }

  @Test("lists other changes")
  func strange() throws {
    let foreign = try read(
      interaction(body: "{encoding: Shift_JIS, string: \"\u{65E5}\"}\n    http_version: '2'\n    url: http://h/")
        .replacing(
          "headers: {", with: "headers: {\"bad name\": [x], Deep: [[x]], "))
    #expect(
      foreign.lines == [
        "entry 1: response.url is left out", "entry 1: response header 'Deep' has no text and is left out",
        "entry 1: response.body was in Shift_JIS: it is replayed in UTF-8",
        "entry 1: HTTP version 2: it is replayed over HTTP/1.1",
        "entry 1: response header 'bad name' cannot be sent, and is left out",
      ])
  }

  @Test(
    "names the line, column and entry of an error",
    arguments: [
      ("http_interactions:\n- request: {method: get}\n", "line 2, column 3: entry 1: response is missing"),
      ("http_interactions:\n- 1\n", "line 2, column 3: entry 1: request is missing"),
      (
        "http_interactions:\n- request: {uri: x}\n  response: {status: 1}",
        "line 2, column 12: entry 1: request.method is missing"
      ),
      (
        "http_interactions:\n- request: {uri: x, method: get}\n  response: {status: OK}",
        "line 3, column 22: entry 1: response.status.code is not a whole number"
      ),
      ("http_interactions: 1", "line 1, column 1: it is not a VCR cassette, which has a list 'http_interactions'"),
      ("http_interactions:\n- [", "line 3, column 1: did not find expected node content"),
      ("a: !binary '*'", "line 1, column 4: a binary value is not Base64"),
      ("a: 1\n--- b", "line 2, column 1: a second document begins"),
      ("a: *b", "line 1, column 4: the alias *b names nothing before it"),
      ("a: &b [*b]", "line 1, column 8: the alias *b names nothing before it"),
      ("[1]: 2", "line 1, column 1: a mapping has a key that is no text"),
      ("a: \u{1}", "line 1, column 4: control characters are not allowed"),
    ])
  func errors(_ text: String, _ problem: String) {
    do {
      _ = try read(text)
      Issue.record("no error")
    } catch {
      #expect("\(error)".hasPrefix("a.yml: \(problem)"), "\(error)")
    }
  }

  @Test("rejects a small file that expands to a huge one, and one nested too deeply")
  func bombs() {
    var text = "a0: &a0 [\(String(repeating: "x,", count: 100))]\n"
    for level in 1...9 {
      text += "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ","))]\n"
    }
    #expect(throws: CodedError.self) { try read(text) }
    #expect(throws: CodedError.self) { try read(String(repeating: "[", count: 10_000)) }
    #expect(throws: CodedError.self) { try read("a: \(String(repeating: "[", count: 600))") }
    #expect(throws: CodedError.self) { try read(String(repeating: "- ", count: 5_000)) }
  }
}
