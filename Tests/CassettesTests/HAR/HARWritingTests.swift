import HTTPMessages
import Basics
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("HAR writing")
struct HARWritingTests {
  private func written(_ interactions: [Interaction], _ header: CassetteHeader = .sample) throws -> JSON {
    try JSON.parse(HAR.write(Cassette(header: header, interactions: interactions)))
  }

  @Test("writes the exact bytes of a file")
  func golden() {
    let interaction = Interaction.sample(
      method: "POST", url: "https://dev.api1.com/slots?day=8%20Oct&day=+9&all",
      requestHeaders: ["Content-Type": "application/json", "Cookie": "a=1; b=\"x y\""],
      requestBody: .bytes(Array(#"{"n":1}"#.utf8)), status: 201, reason: "Created",
      headers: [
        "Content-Type": "text/plain", "Set-Cookie": "t=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly",
        "set-cookie": "u=2; Secure; Domain=x.example; Max-Age=5", "Location": "/slots/1",
      ], body: .bytes(Array("Z\u{FC}rich\r\n".utf8)))
    let expected = """
      {
        "log": {
          "version": "1.2",
          "creator": {
            "name": "diorama",
            "version": "1"
          },
          "_diorama": {
            "format": 1,
            "recording": "3f2a",
            "recordedAt": "2018-10-08T09:00:00Z",
            "timeZone": "Europe/London",
            "locale": "en_GB",
            "seed": "recording-2018",
            "upstreams": {
              "b": "https://dev.api1.com",
              "a": "http://127.0.0.1:8080"
            }
          },
          "pages": [],
          "entries": [
            {
              "_diorama": {
                "upstream": "api"
              },
              "startedDateTime": "2018-10-08T09:00:00.125Z",
              "time": 12.5,
              "request": {
                "method": "POST",
                "url": "https://dev.api1.com/slots?day=8%20Oct&day=+9&all",
                "httpVersion": "HTTP/1.1",
                "cookies": [
                  {
                    "name": "a",
                    "value": "1"
                  },
                  {
                    "name": "b",
                    "value": "\\"x y\\""
                  }
                ],
                "headers": [
                  {
                    "name": "Content-Type",
                    "value": "application/json"
                  },
                  {
                    "name": "Cookie",
                    "value": "a=1; b=\\"x y\\""
                  }
                ],
                "queryString": [
                  {
                    "name": "day",
                    "value": "8 Oct"
                  },
                  {
                    "name": "day",
                    "value": " 9"
                  },
                  {
                    "name": "all",
                    "value": ""
                  }
                ],
                "postData": {
                  "mimeType": "application/json",
                  "text": "{\\"n\\":1}"
                },
                "headersSize": -1,
                "bodySize": 7
              },
              "response": {
                "status": 201,
                "statusText": "Created",
                "httpVersion": "HTTP/1.1",
                "cookies": [
                  {
                    "name": "t",
                    "value": "1",
                    "path": "/",
                    "expires": "2015-10-21T07:28:00Z",
                    "httpOnly": true
                  },
                  {
                    "name": "u",
                    "value": "2",
                    "secure": true,
                    "domain": "x.example"
                  }
                ],
                "headers": [
                  {
                    "name": "Content-Type",
                    "value": "text/plain"
                  },
                  {
                    "name": "Set-Cookie",
                    "value": "t=1; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly"
                  },
                  {
                    "name": "set-cookie",
                    "value": "u=2; Secure; Domain=x.example; Max-Age=5"
                  },
                  {
                    "name": "Location",
                    "value": "/slots/1"
                  }
                ],
                "content": {
                  "size": 9,
                  "mimeType": "text/plain",
                  "text": "Z\u{FC}rich\\r\\n"
                },
                "redirectURL": "/slots/1",
                "headersSize": -1,
                "bodySize": -1
              },
              "cache": {},
              "timings": {
                "send": 0,
                "wait": 12.5,
                "receive": 0
              }
            }
          ]
        }
      }

      """
    let file = HAR.write(Cassette(header: .sample, interactions: [interaction]))
    #expect(String(decoding: file, as: UTF8.self) == expected)
  }

  @Test("writes pieces that add up to the whole file", arguments: 0...3)
  func pieces(_ count: Int) throws {
    let interactions = (0..<count).map { Interaction.sample(url: "https://dev.api1.com/\($0)") }
    var pieces = HAR.prologue(.sample)
    #expect(String(decoding: pieces, as: UTF8.self).hasSuffix("\n    \"entries\": [\n"))
    for (index, interaction) in interactions.enumerated() {
      pieces += HAR.entry(interaction, isFirst: index == 0)
    }
    pieces += HAR.epilogue()
    #expect(pieces == HAR.write(Cassette(header: .sample, interactions: interactions)))
    #expect(try JSON.parse(pieces)["log"]?["entries"]?.array?.count == count)
  }

  @Test("writes valid HAR 1.2 for any cassette", arguments: 0..<100 as Range<UInt64>)
  func valid(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let interactions = (0..<4).map { _ in random.interaction() }
    #expect(HARRules.breaches(of: try written(interactions)) == [])
    #expect(HARRules.breaches(of: try written(interactions, CassetteHeader())) == [])
  }

  @Test("detects violations of HAR 1.2")
  func checker() throws {
    let breaches = HARRules.breaches(
      of: try JSON.parse(Array(#"{"log": {"version": "1.3", "creator": {"name": 1}, "entries": [{"time": 1}]}}"#.utf8)))
    #expect(breaches.contains("log.version is not 1.2"))
    #expect(breaches.contains("log.creator.version is missing"))
    #expect(breaches.contains("log.creator.name is not text"))
    #expect(breaches.contains("entries[0].request is missing"))
  }

  @Test(
    "stores text as is and other bytes in Base64",
    arguments: [
      (Array("{\"a\": 0.00}\r\n\t\u{C}".utf8), nil), (Array("\u{FEFF}\u{2028}\u{1F642}".utf8), nil),
      ([0x61, 0x00], "base64"), ([0xFF, 0xFE], "base64"), ([0x61, 0x1B], "base64"), ([0x7F], "base64"),
      ([0xC3], "base64"), ([0xED, 0xA0, 0x80], "base64"),
    ] as [([UInt8], String?)])
  func encoding(_ bytes: [UInt8], _ encoding: String?) throws {
    let file = try written([.sample(requestBody: .bytes(bytes), body: .bytes(bytes))])
    let entry = file["log"]?["entries"]?.array?[0]
    let content = entry?["response"]?["content"]
    let postData = entry?["request"]?["postData"]
    #expect(content?["encoding"]?.string == encoding)
    #expect(postData?["_diorama"]?["encoding"]?.string == encoding)
    #expect(content?["text"] == postData?["text"])
    #expect(content?["size"]?.int == bytes.count)
  }

  @Test("omits the text of an empty body")
  func empty() throws {
    let entry = try written([.sample()])["log"]?["entries"]?.array?[0]
    #expect(entry?["request"]?["postData"] == nil)
    #expect(entry?["request"]?["bodySize"] == .number("0"))
    #expect(
      entry?["response"]?["content"] == .object([.init("size", .number("0")), .init("mimeType", .string("x-unknown"))]))
  }

  @Test(
    "writes times that JSON can represent",
    arguments: [(0, "0"), (12, "12"), (0.125, "0.125"), (-1, "0"), (.nan, "0"), (.infinity, "0")] as [(Double, String)])
  func times(_ milliseconds: Double, _ text: String) throws {
    let entry = try written([.sample(milliseconds: milliseconds)])["log"]?["entries"]?.array?[0]
    #expect(entry?["time"] == .number(text))
    #expect(entry?["timings"]?["wait"] == .number(text))
  }

  @Test("writes one interaction per line into the partial file")
  func lines() throws {
    let line = HAR.line(.sample(body: .bytes(Array("a\nb\u{2028}".utf8))))
    #expect(line.filter { $0 == 0x0A }.count == 1)
    #expect(line.last == 0x0A)
    let header = HAR.headerLine(.sample)
    #expect(header.filter { $0 == 0x0A }.count == 1)
  }
}
