@testable import CassetteConversion
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Importing HARs")
struct HARImportTests {
  @Test("reads Chrome's, and lists what is lost")
  func chrome() throws {
    let foreign = try Fixture.chrome.read()
    #expect(
      foreign.interactions.map(\.request.url) == [
        "https://api.example.com/image.png", "https://api.example.com/orders", "https://api.example.com/live",
      ])
    #expect(foreign.interactions[1].response.headers.all("Set-Cookie") == ["a=1", "b=2"])
    #expect(foreign.interactions[1].response.body.text == "{\"total\":0.00}")
    #expect(
      foreign.lines == [
        "log.pages is left out (1)", "entry 1: _initiator is left out", "entry 1: _priority is left out",
        "entry 1: _resourceType is left out", "entry 1: connection is left out", "entry 1: pageref is left out",
        "entry 1: serverIPAddress is left out", "entry 1: response._transferSize is left out",
        "entry 1: only the sum of timings is kept",
        "entries 1, 3: HTTP version http/2.0 is replayed as HTTP/1.1",
        "entry 1: HTTP/2 and HTTP/3 pseudo headers are left out",
        "entry 1: the URL's fragment is left out: it is never sent",
        "entry 3: the response body was not saved: the replayed body is empty",
      ])
  }

  @Test("reads Firefox's, whose forms may only have fields")
  func firefox() throws {
    let foreign = try Fixture.firefox.read()
    let interaction = try #require(foreign.interactions.first)
    #expect(interaction.request.body.text == "name=a+b&q=%C3%BC")
    #expect(interaction.response.body == .bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00]))
    #expect(interaction.response.headers["Content-Encoding"] == "gzip")
    #expect(
      foreign.lines == [
        "log.browser is left out", "entry 1: _securityState is left out", "entry 1: serverIPAddress is left out",
        "entry 1: connection is left out",
        "entry 1: the request's form was rebuilt from its fields: its bytes may differ",
      ])
  }

  @Test("reads mitmproxy's")
  func mitmproxy() throws {
    let foreign = try Fixture.mitmproxy.read()
    #expect(foreign.interactions.map(\.response.status) == [200, 200, 200, 201])
    #expect(foreign.interactions[1].response.body.text == String(repeating: "squeezed ", count: 100))
    #expect(foreign.interactions[2].response.body == .bytes([0x64, 0xE9, 0x6A, 0xE0, 0x20, 0x76, 0x75]))
    #expect(foreign.interactions[3].request.body.text == "{\"item\": \"t\u{E9}\", \"price\": 0.00, \"tags\": []}")
    #expect(
      foreign.lines == [
        "entries 1-4: serverIPAddress is left out", "entries 1-4: only the sum of timings is kept",
      ])
  }

  @Test("leaves out entries without a host to request, and secrets in URLs")
  func urls() throws {
    let entries = ["http://user:secret@h/a", "http:///none", "data:text/plain,x"].map {
      #"{"startedDateTime": "2018-10-08T09:00:00Z", "request": {"method": "GET", "url": "\#($0)"}, "response": {"status": 200}}"#
    }
    let foreign = try ForeignCassette.read(
      Array("{\"log\": {\"entries\": [\(entries.joined(separator: ","))]}}".utf8), name: "a.har")
    #expect(foreign.interactions.map(\.request.url) == ["http://h/a"])
    #expect(
      foreign.lines == [
        "entry 1: user and password in the URL are left out",
        "entry 2: the URL 'http:///none' has no valid host: the entry is left out",
        "entry 3: its URL begins with data:: the entry is left out",
      ])
  }
}
