import Basics
import HTTPMessages
import Testing

@testable import Cassettes

/// Abridged HARs of other tools, with the members that they add, omit or use differently.
@Suite("HARs of other tools")
struct HARSampleTests {
  private func read(_ text: String) throws(CodedError) -> Cassette {
    try HAR.read(Array(text.utf8), name: "sample.har")
  }

  private func text(_ body: RecordedBody) -> String? {
    guard case .bytes(let bytes) = body else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  @Test("reads a HAR from mitmproxy")
  func mitmproxy() throws {
    let cassette = try read(mitmproxySample)
    #expect(cassette.header.recordedAt == "2026-11-20T05:50:57.656087+00:00")
    #expect(cassette.skipped == [] && cassette.incomplete == [])
    let interactions = cassette.interactions
    #expect(interactions.map(\.response.status) == [200, 200, 303, 303])
    #expect(interactions[0].request.url == "http://clinic.example.com/json?q=a%20b&q=c+d")
    #expect(text(interactions[0].response.body) == "{\"name\": \"Zo\u{EB}\", \"price\": 0.00}")
    #expect(interactions[0].response.headers.all("Set-Cookie").count == 2)
    #expect(interactions[0].response.headers["Content-Encoding"] == "gzip")
    #expect(interactions[1].response.body == .bytes([0, 0xFF, 0x89, 0x50]))
    #expect(text(interactions[2].request.body) == "user=zo%C3%AB&x=1+2")
    #expect(interactions[3].request.body == .bytes([0, 1, 0xFF]))
    #expect(interactions[3].response.body == .empty)
  }

  @Test("reads a HAR from Chrome")
  func chrome() throws {
    let cassette = try read(
      #"""
      {"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"},
       "pages": [{"startedDateTime": "2018-10-08T09:00:00.000Z", "id": "page_1", "title": "https://app.example.com/",
         "pageTimings": {"onContentLoad": 120.5, "onLoad": null}}],
       "entries": [
        {"_connectionId": "91", "_initiator": {"type": "other"}, "_priority": "VeryHigh", "_resourceType": "document",
         "cache": {}, "connection": "443", "pageref": "page_1",
         "request": {"method": "GET", "url": "https://app.example.com/#start", "httpVersion": "h2",
          "headers": [{"name": ":authority", "value": "app.example.com"}, {"name": ":method", "value": "GET"},
           {"name": "accept", "value": "text/html"}],
          "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": 200, "statusText": "", "httpVersion": "h2",
          "headers": [{"name": "content-type", "value": "text/html; charset=utf-8"}, {"name": "content-encoding", "value": "br"},
           {"name": "set-cookie", "value": "a=1; Path=/\nb=2; Path=/"}],
          "cookies": [{"name": "a", "value": "1", "sameSite": "Lax"}],
          "content": {"size": 13, "mimeType": "text/html", "text": "<p>Z\u00fcrich</p>"},
          "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 321, "_error": null},
         "serverIPAddress": "192.0.2.7", "startedDateTime": "2018-10-08T09:00:00.010Z", "time": 34.21700000762939,
         "timings": {"blocked": 1.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 30, "receive": 2.6}},
        {"_resourceType": "image", "request": {"method": "GET", "url": "https://app.example.com/a.png", "headers": []},
         "response": {"status": 200, "statusText": "", "headers": [{"name": "content-type", "value": "image/png"}],
          "content": {"size": 4, "mimeType": "image/png", "text": "iVBORw==", "encoding": "base64"}},
         "startedDateTime": "2018-10-08T09:00:00.020Z", "time": 1},
        {"_resourceType": "fetch", "request": {"method": "GET", "url": "https://ads.example.com/x", "headers": []},
         "response": {"status": 0, "statusText": "", "headers": [], "cookies": [], "content": {"size": 0, "mimeType": "x-unknown"},
          "redirectURL": "", "headersSize": -1, "bodySize": -1, "_error": "net::ERR_BLOCKED_BY_CLIENT"},
         "startedDateTime": "2018-10-08T09:00:00.030Z", "time": 1},
        {"_resourceType": "websocket", "_webSocketMessages": [{"type": "send", "time": 1, "opcode": 1, "data": "hi"}],
         "request": {"method": "GET", "url": "wss://app.example.com/live", "headers": []},
         "response": {"status": 101, "statusText": "Switching Protocols", "headers": [], "content": {"size": 0}},
         "startedDateTime": "2018-10-08T09:00:00.040Z", "time": 1},
        {"request": {"method": "GET", "url": "data:image/gif;base64,R0lGODlh", "headers": []},
         "response": {"status": 200, "headers": [], "content": {"size": 6, "mimeType": "image/gif"}},
         "startedDateTime": "2018-10-08T09:00:00.050Z", "time": 0}]}}
      """#)
    #expect(cassette.interactions.count == 3)
    #expect(
      cassette.skipped == [
        "entry 3: status 0: the request failed or was blocked",
        "entry 5: its URL begins with data:",
      ])
    let page = cassette.interactions[0]
    #expect(page.request.url == "https://app.example.com/")
    #expect(page.request.headers == ["accept": "text/html"])
    #expect(page.response.headers.all("set-cookie") == ["a=1; Path=/", "b=2; Path=/"])
    #expect(text(page.response.body) == "<p>Z\u{FC}rich</p>")
    #expect(page.milliseconds == 34.21700000762939)
    #expect(cassette.interactions[1].response.body == .bytes([0x89, 0x50, 0x4E, 0x47]))
    #expect(cassette.header.recordedAt == "2018-10-08T09:00:00.010Z")
  }

  @Test("reads a HAR from Firefox")
  func firefox() throws {
    let cassette = try read(
      #"""
      {"log": {"version": "1.2", "creator": {"name": "Firefox", "version": "120.0"}, "browser": {"name": "Firefox", "version": "120.0"},
       "pages": [{"id": "page_1", "pageTimings": {"onContentLoad": 5, "onLoad": 9}, "startedDateTime": "2018-10-08T11:00:00.000+02:00",
         "title": "x"}],
       "entries": [
        {"startedDateTime": "2018-10-08T11:00:01.500+02:00", "request": {"bodySize": 9, "method": "POST",
          "url": "https://app.example.com/login?next=%2F", "httpVersion": "HTTP/2", "headersSize": 300,
          "headers": [{"name": "Content-Type", "value": "application/x-www-form-urlencoded"}], "cookies": [],
          "queryString": [{"name": "next", "value": "/"}],
          "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "user", "value": "zoe"}], "text": "user=zoe"}},
         "response": {"status": 302, "statusText": "Found", "httpVersion": "HTTP/2",
          "headers": [{"name": "location", "value": "/"}], "cookies": [],
          "content": {"mimeType": "text/html", "size": 0, "text": ""}, "redirectURL": "/", "headersSize": 20, "bodySize": 20},
         "cache": {}, "timings": {"blocked": 0, "dns": 0, "connect": 0, "ssl": 0, "send": 0, "wait": 20, "receive": 0},
         "time": 20, "_securityState": "secure", "serverIPAddress": "192.0.2.7", "connection": "443", "pageref": "page_1"},
        {"startedDateTime": "2018-10-08T11:00:01.000+02:00", "request": {"method": "GET", "url": "https://app.example.com/big",
          "headers": [], "bodySize": 0},
         "response": {"status": 200, "statusText": "OK", "headers": [{"name": "content-type", "value": "text/plain"}],
          "content": {"mimeType": "text/plain", "size": 9000000, "comment": "Response bodies are not included."},
          "redirectURL": "", "headersSize": 20, "bodySize": 20},
         "cache": {"afterRequest": {"expires": "1970-01-01 ", "lastFetched": "Mon, 08 Oct", "eTag": "", "fetchCount": "1"}},
         "timings": {}, "time": 20}]}}
      """#)
    #expect(cassette.interactions.map(\.request.method) == ["GET", "POST"])
    #expect(cassette.incomplete == ["entry 2: GET https://app.example.com/big"])
    #expect(text(cassette.interactions[1].request.body) == "user=zoe")
    #expect(cassette.header.recordedAt == "2018-10-08T11:00:01.000+02:00")
  }

  @Test("reads a HAR from Playwright")
  func playwright() throws {
    let cassette = try read(
      #"""
      {"log": {"version": "1.2", "creator": {"name": "Playwright", "version": "1.40.0"}, "browser": {"name": "chromium", "version": "1"},
       "entries": [
        {"startedDateTime": "2018-10-08T09:00:00.000Z", "time": -1,
         "request": {"method": "POST", "url": "https://api.example.com/upload", "httpVersion": "HTTP/2.0", "cookies": [],
          "headers": [{"name": "content-type", "value": "image/png"}], "queryString": [], "headersSize": -1, "bodySize": 4,
          "postData": {"mimeType": "image/png", "text": "", "params": [], "_file": "5ca1.dat"}},
         "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2.0", "cookies": [],
          "headers": [{"name": "content-type", "value": "application/json"}],
          "content": {"size": -1, "mimeType": "application/json", "_file": "0e8f.json"},
          "headersSize": -1, "bodySize": -1, "redirectURL": "", "_transferSize": -1},
         "cache": {}, "timings": {"send": -1, "wait": -1, "receive": -1}, "pageref": "page@1", "_frameref": "f", "_monotonicTime": 1.5}]}}
      """#)
    let interaction = try #require(cassette.interactions.first)
    #expect(interaction.milliseconds == 0)
    #expect(interaction.request.body == .file(name: "5ca1.dat", length: 4))
    #expect(interaction.response.body == .file(name: "0e8f.json", length: 0))
    #expect(cassette.incomplete == [])
  }

  @Test("reads a HAR from Polly.JS")
  func polly() throws {
    let cassette = try read(
      #"""
      {"log": {"_recordingName": "books/lists", "creator": {"comment": "persister:fs", "name": "Polly.JS", "version": "6.0.6"},
       "entries": [
        {"_id": "8d2f", "_order": 1, "cache": {},
         "request": {"bodySize": 7, "cookies": [], "headers": [{"_fromType": "array", "name": "accept", "value": "*/*"}],
          "headersSize": 60, "httpVersion": "HTTP/1.1", "method": "PUT",
          "postData": {"mimeType": "application/json", "params": [], "text": "{\"a\":1}"}, "queryString": [],
          "url": "https://api.example.com/books/1"},
         "response": {"bodySize": 3, "content": {"mimeType": "image/png", "size": 3, "text": "0001ff", "_isBinary": true}, "cookies": [],
          "headers": [{"name": "content-type", "value": "image/png"}], "headersSize": 40, "httpVersion": "HTTP/1.1",
          "redirectURL": "", "status": 200, "statusText": "OK"},
         "startedDateTime": "2018-10-08T09:00:00.000Z", "time": 7,
         "timings": {"blocked": -1, "connect": -1, "dns": -1, "receive": 0, "send": 0, "ssl": -1, "wait": 7}}],
       "pages": [], "version": "1.2"}}
      """#)
    let interaction = try #require(cassette.interactions.first)
    #expect(interaction.response.body == .bytes([0, 1, 0xFF]))
    #expect(text(interaction.request.body) == "{\"a\":1}")
  }

  @Test("decodes what Polly.JS stored with its content coding, in chunks", arguments: [false, true])
  func pollyChunks(isHexadecimal: Bool) throws {
    let body = Array(String(repeating: "squeezed ", count: 90).utf8)
    let zipped = try #require(ContentCodings(header: "gzip")).encode(body)
    func stored(_ bytes: [UInt8]) -> String {
      let chunks = [bytes.prefix(7), bytes.dropFirst(7)].map { chunk in
        let digits = chunk.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return JSON.string(isHexadecimal ? digits : Base64.encode(Array(chunk)))
      }
      let text = JSON.string(String(decoding: JSON.array(chunks).encoded(), as: UTF8.self))
      return "\"text\": \(String(decoding: text.encoded(), as: UTF8.self)), "
        + (isHexadecimal ? "\"_isBinary\": true" : "\"encoding\": \"base64\"")
    }
    func interaction(_ bytes: [UInt8]) throws -> Interaction? {
      try read(
        """
        {"log": {"creator": {"name": "Polly.JS"}, "entries": [{"request": {"method": "GET", "url": "http://h/"},
         "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "gzip"}], "content": {\(stored(bytes))}}}]}}
        """
      ).interactions.first
    }
    let whole = try interaction(zipped)
    #expect(whole?.response.body == .bytes(body))
    #expect(whole?.response.isBodyAsSent == false)
    let broken = try interaction(zipped.dropLast(4))
    #expect(broken?.response.body == .bytes(zipped.dropLast(4)))
    #expect(broken?.response.isBodyAsSent == true)
  }

  @Test("writes a cassette read from another tool as a strictly valid HAR")
  func rewritten() throws {
    let file = HAR.write(try read(mitmproxySample))
    #expect(HARRules.breaches(of: try JSON.parse(file)) == [])
  }
}

/// Written by mitmproxy 11.0.2 (`hardump`), with its hosts and addresses replaced.
let mitmproxySample = #"""
  {"log": {"version": "1.2", "creator": {"name": "mitmproxy", "version": "11.0.2", "comment": ""}, "pages": [], "entries": [
    {"startedDateTime": "2026-11-20T05:50:57.656087+00:00",
     "time": 3.596067428588867,
     "request": {"method": "GET", "url": "http://clinic.example.com/json?q=a%20b&q=c+d", "httpVersion": "HTTP/1.1", "cookies": [{"name": "k", "value": "v"}, {"name": "q", "value": "w"}], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Cookie", "value": "k=v; q=\"w\""}], "queryString": [{"name": "q", "value": "a b"}, {"name": "q", "value": "c d"}], "headersSize": 120, "bodySize": 0},
     "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [{"name": "a", "value": "1", "path": "/", "domain": "", "httpOnly": true, "secure": false}, {"name": "b", "value": "2", "path": "/", "domain": "", "httpOnly": false, "secure": false}], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Content-Type", "value": "application/json"}, {"name": "Content-Encoding", "value": "gzip"}, {"name": "Set-Cookie", "value": "a=1; Path=/; HttpOnly"}, {"name": "Set-Cookie", "value": "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"}, {"name": "Content-Length", "value": "49"}], "content": {"size": 49, "compression": -18, "mimeType": "application/json", "text": "{\"name\": \"Zo\u00eb\", \"price\": 0.00}"}, "redirectURL": "", "headersSize": 303, "bodySize": 49},
     "cache": {},
     "timings": {"connect": 0.26226043701171875, "ssl": -1.0, "send": 0.3376007080078125, "receive": 0.23484230041503906, "wait": 2.761363983154297},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.672167+00:00",
     "time": 3.6165714263916016,
     "request": {"method": "GET", "url": "http://clinic.example.com/bin", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}], "queryString": [], "headersSize": 92, "bodySize": 0},
     "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Content-Type", "value": "image/png"}, {"name": "Content-Length", "value": "4"}], "content": {"size": 4, "compression": 0, "mimeType": "image/png", "text": "AP+JUA==", "encoding": "base64"}, "redirectURL": "", "headersSize": 156, "bodySize": 4},
     "cache": {},
     "timings": {"connect": 0.1342296600341797, "ssl": -1.0, "send": 0.22840499877929688, "receive": 0.4825592041015625, "wait": 2.7713775634765625},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.685885+00:00",
     "time": 1.7707347869873047,
     "request": {"method": "POST", "url": "http://clinic.example.com/form", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Content-Length", "value": "19"}, {"name": "Content-Type", "value": "application/x-www-form-urlencoded"}], "queryString": [], "headersSize": 177, "bodySize": 19, "postData": {"mimeType": "application/x-www-form-urlencoded", "text": "user=zo%C3%AB&x=1+2", "params": [{"name": "user", "value": "zo\u00eb"}, {"name": "x", "value": "1 2"}]}},
     "response": {"status": 303, "statusText": "See Other", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Location", "value": "/json"}, {"name": "Content-Length", "value": "0"}], "content": {"size": 0, "compression": 0, "mimeType": "", "text": ""}, "redirectURL": "/json", "headersSize": 148, "bodySize": 0},
     "cache": {},
     "timings": {"connect": 0.33283233642578125, "ssl": -1.0, "send": 0.2884864807128906, "receive": 0.2071857452392578, "wait": 0.942230224609375},
     "serverIPAddress": "192.0.2.7"},
    {"startedDateTime": "2026-11-20T05:50:57.700234+00:00",
     "time": 3.1478404998779297,
     "request": {"method": "POST", "url": "http://clinic.example.com/upload", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Host", "value": "clinic.example.com"}, {"name": "User-Agent", "value": "curl/7.88.1"}, {"name": "Accept", "value": "*/*"}, {"name": "Content-Type", "value": "application/octet-stream"}, {"name": "Content-Length", "value": "3"}], "queryString": [], "headersSize": 167, "bodySize": 3, "postData": {"mimeType": "application/octet-stream", "text": "\u0000\u0001\u00ff", "params": []}},
     "response": {"status": 303, "statusText": "See Other", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Server", "value": "BaseHTTP/0.6 Python/3.11.7"}, {"name": "Date", "value": "Fri, 20 Nov 2026 05:50:57 GMT"}, {"name": "Location", "value": "/json"}, {"name": "Content-Length", "value": "0"}], "content": {"size": 0, "compression": 0, "mimeType": "", "text": ""}, "redirectURL": "/json", "headersSize": 148, "bodySize": 0},
     "cache": {},
     "timings": {"connect": 0.14543533325195312, "ssl": -1.0, "send": 0.2522468566894531, "receive": 0.20313262939453125, "wait": 2.547025680541992},
     "serverIPAddress": "192.0.2.7"}
  ]}}
  """#
