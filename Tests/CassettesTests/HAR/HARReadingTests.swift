import Basics
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("HAR reading")
struct HARReadingTests {
  private func read(_ text: String) throws(CodedError) -> Cassette {
    try HAR.read(Array(text.utf8), name: "a.har")
  }

  /// Another tool's HAR with one entry, with some members set by the test.
  private func entry(
    url: String = "https://api.example.com/", method: String = "GET", request: String = "", status: String = "200",
    response: String = "", entry: String = "", creator: String = "x"
  ) throws(CodedError) -> Cassette {
    try read(
      """
      {"log": {"creator": {"name": "\(creator)"}, "entries": [{"request": {"method": "\(method)", "url": "\(url)"\(request)},
      "response": {"status": \(status)\(response)}\(entry)}]}}
      """)
  }

  @Test("reads an entry with only the required members")
  func minimal() throws {
    let cassette = try entry()
    let interaction = try #require(cassette.interactions.first)
    #expect(interaction.upstream == nil)
    #expect(interaction.request.headers == [:] && interaction.request.body == .empty)
    #expect(interaction.response.headers == [:] && interaction.response.body == .empty)
    #expect(cassette.header == CassetteHeader())
    #expect(cassette.incomplete == [])
  }

  @Test("accepts a byte order mark, fractional integers, nulls and unusual dates")
  func lenient() throws {
    let cassette = try read(
      "\u{FEFF}"
        + """
        {"log": {"version": null, "pages": null, "entries": [{"_id": "x", "_order": 0, "time": null,
          "startedDateTime": "2018-10-08T09:00:00.000+0100",
          "cache": {"beforeRequest": {"lastAccess": "Mon Oct 8"}}, "timings": null,
          "request": {"method": "GET", "url": "https://api.example.com/x#top", "headers": null, "postData": null},
          "response": {"status": 200.0, "statusText": null, "redirectURL": null,
            "content": {"size": 0.5, "mimeType": "text/plain", "text": null}}}]}}
        """)
    let interaction = try #require(cassette.interactions.first)
    #expect(interaction.request.url == "https://api.example.com/x")
    #expect(interaction.response.status == 200)
    #expect(interaction.response.headers == ["Content-Type": "text/plain"])
    #expect(interaction.startedAt == "2018-10-08T09:00:00.000+0100")
    #expect(cassette.header.recordedAt == "2018-10-08T08:00:00Z")
  }

  @Test("drops HTTP/2 pseudo headers and invalid header names")
  func pseudoHeaders() throws {
    let cassette = try entry(
      request: #", "headers": [{"name": ":authority", "value": "x"}, {"name": "accept", "value": "*/*"}]"#,
      response: """
        , "headers": [{"name": ":status", "value": "200"}, {"name": "a b", "value": "x"}, {"value": "x"},
        {"name": "x-null", "value": null}, {"name": "Set-Cookie", "value": "a=1\\nb=2"},
        {"name": "Set-Cookie", "value": ["c=3", "d=4"]}, {"name": "x-n", "value": 7}, {"name": "x-b", "value": true}]
        """)
    #expect(cassette.interactions[0].request.headers == ["accept": "*/*"])
    #expect(
      cassette.interactions[0].response.headers == [
        "x-null": "", "Set-Cookie": "a=1", "Set-Cookie": "b=2", "Set-Cookie": "c=3", "Set-Cookie": "d=4", "x-n": "7",
        "x-b": "true",
      ])
  }

  @Test(
    "skips entries that cannot be replayed, with the reason",
    arguments: [
      ("wss://api.example.com/", "101", "entry 1: a WebSocket whose messages were not saved"),
      ("ws://api.example.com/", "0", "entry 1: status 0: the request failed or was blocked"),
      ("data:text/plain,x", "200", "entry 1: its URL begins with data:"),
      ("blob:https://x/1", "200", "entry 1: its URL begins with blob:"),
      ("about:blank", "200", "entry 1: its URL begins with about:"),
      ("https://api.example.com/", "0", "entry 1: status 0: the request failed or was blocked"),
      ("https://api.example.com/", "-1", "entry 1: status -1: the request failed or was blocked"),
      ("https://api.example.com/", "101", "entry 1: status 101: the connection left HTTP"),
      ("https://api.example.com/", "103", "entry 1: status 103 is not a final response"),
    ])
  func skipped(_ url: String, _ status: String, _ reason: String) throws {
    let cassette = try entry(url: url, status: status)
    #expect(cassette.interactions.isEmpty)
    #expect(cassette.skipped == [reason])
  }

  @Test("reads WebSockets as Chrome, Playwright and mitmproxy write them", arguments: ["101", "200"])
  func webSocket(status: String) throws {
    let messages = #"""
      [{"type": "send", "time": 1.5, "opcode": 1, "data": "hi"}, {"type": "receive", "time": 2, "opcode": 2, "data": "AP8="},
       {"type": "receive", "time": 2, "opcode": 9, "data": ""}, {"type": "send", "time": 2, "opcode": 10, "data": ""},
       {"type": "receive", "time": 3, "opcode": 8, "data": ""}, {"type": "error", "time": 4, "opcode": -1, "data": "gone"}]
      """#
    for url in ["wss://api.example.com/a", "https://api.example.com/a"] {
      let cassette = try entry(
        url: url, status: status, entry: #", "_resourceType": "websocket", "_webSocketMessages": \#(messages)"#)
      #expect(cassette.skipped == [])
      let interaction = try #require(cassette.interactions.first)
      #expect(interaction.request.method == RecordedRequest.webSocketMethod)
      #expect(interaction.request.url == "https://api.example.com/a")
      #expect(interaction.response.status == 101)
      #expect(
        interaction.webSocket == [
          WebSocketFrame(isFromApp: true, time: 1.5, message: WebSocketMessage(.text, Array("hi".utf8))),
          WebSocketFrame(isFromApp: false, time: 2, message: WebSocketMessage(.binary, [0, 255])),
          WebSocketFrame(isFromApp: false, time: 3, message: WebSocketMessage(.close)),
        ])
    }
  }

  @Test("skips a WebSocket that cannot be replayed, and keeps a refused one")
  func incompleteWebSocket() throws {
    #expect(
      try entry(status: "101", entry: #", "_resourceType": "websocket""#).skipped
        == ["entry 1: a WebSocket whose messages were not saved"])
    #expect(
      try entry(status: "101", entry: #", "_webSocketMessages": [{"type": "send", "opcode": 0}]"#).skipped
        == ["entry 1: a WebSocket that cannot be read: _webSocketMessages[0].opcode is not 1, 2 or 8"])
    #expect(try entry(url: "wss://api.example.com/", status: "403").interactions.map(\.response.status) == [403])
  }

  @Test("lists the entries whose body was not saved")
  func incomplete() throws {
    let content = #", "content": {"size": 5}"#
    #expect(try entry(response: content).incomplete == ["entry 1: GET https://api.example.com/"])
    #expect(try entry(method: "HEAD", response: content).incomplete == [])
    #expect(try entry(status: "304", response: content).incomplete == [])
    #expect(try entry(response: #", "content": {"size": 5, "text": ""}"#).incomplete == [])
  }

  @Test(
    "reads a response body in any encoding",
    arguments: [
      (#""text": "Z\u00fcrich""#, Array("Z\u{FC}rich".utf8)),
      (#""text": "AP8=", "encoding": "base64""#, [0x00, 0xFF]),
      (#""text": "AP\r\n8 =\n", "encoding": "BASE64""#, [0x00, 0xFF]),
      (#""text": "AP8", "encoding": "base64""#, [0x00, 0xFF]),
      (#""text": "-_-_", "encoding": "base64""#, [0xFB, 0xFF, 0xBF]),
      (#""text": "", "encoding": "base64""#, []),
      (#""text": "x", "encoding": """#, [0x78]),
      (#""text": "x", "encoding": null"#, [0x78]),
      (#""text": "x", "encoding": "utf-8""#, [0x78]),
      (#""text": "00ff", "_isBinary": true"#, [0x00, 0xFF]),
      (#""text": "[\"00\",\"ff\"]", "_isBinary": true"#, [0x00, 0xFF]),
      (#""text": "[\"AP8=\",\"AQ==\"]", "encoding": "base64", "_isBinary": true"#, [0x00, 0xFF, 0x01]),
      (
        #""text": "Z\u00fcrich", "mimeType": "text/html; Charset=\"ISO-8859-1\"; x=y""#,
        Array("Z".utf8) + [0xFC] + Array("rich".utf8)
      ),
      (#""text": "\u20ac", "mimeType": "text/html; charset=iso-8859-1""#, Array("\u{20AC}".utf8)),
      (#""text": "Z\u00fcrich", "size": 6, "mimeType": "text/html""#, Array("Z\u{FC}rich".utf8)),
    ] as [(String, [UInt8])])
  func content(_ members: String, _ bytes: [UInt8]) throws {
    let cassette = try entry(response: ", \"content\": {\(members)}")
    #expect(cassette.interactions[0].response.body == .bytes(bytes))
  }

  @Test("restores the bytes of bodies that mitmproxy decoded without a charset")
  func mitmproxy() throws {
    let body = try entry(
      request: #", "bodySize": 3, "postData": {"mimeType": "image/png", "text": "\u0000\u0001\u00ff"}"#,
      response: #", "content": {"size": 9, "compression": -2, "mimeType": "text/html", "text": "Z\u00c3\u00bcrich"}"#,
      creator: "mitmproxy")
    #expect(body.interactions[0].request.body == .bytes([0, 1, 0xFF]))
    #expect(body.interactions[0].response.body == .bytes(Array("Z\u{FC}rich".utf8)))
  }

  @Test(
    "reads a request body in any encoding",
    arguments: [
      (#""mimeType": "text/plain", "text": "a=1""#, "a=1"),
      (#""mimeType": "x", "text": "YT0x", "_diorama": {"encoding": "base64"}"#, "a=1"),
      (#""mimeType": "x", "text": "YT0x", "encoding": "base64""#, "a=1"),
      (
        #""mimeType": "application/x-www-form-urlencoded", "text": "a=1", "params": [{"name": "b", "value": "2"}]"#,
        "a=1"
      ),
      (
        #""mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "\u00fc&="}, {"name": "c"}]"#,
        "a+b=%C3%BC%26%3D&c="
      ),
      (
        #""mimeType": "multipart/form-data; boundary=\"XX\"", "params": [{"name": "a", "value": "1"}, "#
          + #"{"name": "f", "fileName": "x.txt", "contentType": "text/plain", "value": "hi"}]"#,
        "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX\r\nContent-Disposition: form-data; "
          + "name=\"f\"; filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--XX--\r\n"
      ),
      (#""mimeType": "", "params": []"#, ""), (#""mimeType": null"#, ""),
    ])
  func postData(_ members: String, _ body: String) throws {
    let cassette = try entry(method: "POST", request: ", \"postData\": {\(members)}")
    #expect(cassette.interactions[0].request.body == .bytes(Array(body.utf8)))
  }

  @Test("keeps the names of body files relative to the HAR")
  func sideFiles() throws {
    let cassette = try entry(
      request: #", "bodySize": 7, "postData": {"mimeType": "x", "_file": "p.bin"}"#,
      response: #", "content": {"size": 12, "mimeType": "image/png", "_file": "a.bodies/0af3.png"}"#)
    #expect(cassette.interactions[0].response.body == .file(name: "a.bodies/0af3.png", length: 12))
    #expect(cassette.interactions[0].request.body == .file(name: "p.bin", length: 7))
  }

  @Test(
    "rejects a body file outside the HAR's folder",
    arguments: ["/etc/passwd", "../x", "a/../../x", "..", "a/..", "./x", "", "a//b", "..\\\\x", "C:\\\\x", "a\\u0000b"])
  func escapingSideFiles(_ file: String) {
    #expect(throws: CodedError.self) { try entry(response: ", \"content\": {\"size\": 1, \"_file\": \"\(file)\"}") }
    #expect(throws: CodedError.self) { try entry(request: ", \"postData\": {\"_file\": \"\(file)\"}") }
  }

  @Test("sorts another tool's entries by instant and uses the earliest as the recording date")
  func order() throws {
    let entries = [
      ("a", "2018-10-08T10:30:00+02:00"), ("b", "2018-10-08T08:00:00.5Z"), ("c", "2018-10-08T08:00:00.25Z"),
    ]
    func file(_ diorama: String) -> String {
      let list = entries.map {
        #"{"startedDateTime": "\#($0.1)", "request": {"method": "GET", "url": "http://h/\#($0.0)"}, "response": {"status": 200}}"#
      }
      return "{\"log\": {\(diorama)\"entries\": [\(list.joined(separator: ","))]}}"
    }
    let foreign = try read(file(""))
    #expect(foreign.interactions.map(\.request.url) == ["http://h/c", "http://h/b", "http://h/a"])
    #expect(foreign.header.recordedAt == "2018-10-08T08:00:00.25Z")
    let ours = try read(file(#""_diorama": {"format": 1, "recordedAt": "2018-01-01T00:00:00Z"}, "#))
    #expect(ours.interactions.map(\.request.url) == ["http://h/a", "http://h/b", "http://h/c"])
    #expect(ours.header.recordedAt == "2018-01-01T00:00:00Z")
  }

  @Test("keeps the order of entries if one has no time")
  func unordered() throws {
    let cassette = try read(
      """
      {"log": {"entries": [
      {"startedDateTime": "2018-10-08T10:00:00Z", "request": {"method": "GET", "url": "http://h/a"}, "response": {"status": 200}},
      {"startedDateTime": "yesterday", "request": {"method": "GET", "url": "http://h/b"}, "response": {"status": 200}},
      {"startedDateTime": "2018-10-07T10:00:00Z", "request": {"method": "GET", "url": "http://h/c"}, "response": {"status": 200}}]}}
      """)
    #expect(cassette.interactions.map(\.request.url) == ["http://h/a", "http://h/b", "http://h/c"])
    #expect(cassette.header.recordedAt == "2018-10-07T10:00:00Z")
  }

  @Test("reads a Diorama cassette whose members were reordered")
  func sortedMembers() throws {
    let cassette = try read(
      """
      {"log": {"entries": [{"_diorama": {"upstream": "api"}, "request": {"method": "GET", "url": "http://h/"},
      "response": {"content": {"mimeType": "text/plain; charset=latin1", "text": "\u{FC}"}, "headers": [], "status": 200}}],
      "version": "1.2", "_diorama": {"seed": "s", "format": 1, "later": [1]}}}
      """)
    #expect(cassette.header.seed == "s")
    #expect(cassette.interactions[0].upstream == "api")
    #expect(cassette.interactions[0].response.body == .bytes(Array("\u{FC}".utf8)))
  }
}
