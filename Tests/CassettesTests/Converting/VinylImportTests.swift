import Basics
@testable import CassetteConversion
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Importing Vinyl and DVR")
struct VinylImportTests {
  private func read(_ text: String, as format: ImportFormat? = nil) throws -> ForeignCassette {
    try ForeignCassette.read(Array(text.utf8), name: "a.json", as: format)
  }

  @Test("reads a Vinyl cassette, including trailing commas, with bodies by their type")
  func vinyl() throws {
    let interactions = try Fixture.vinyl.read().interactions
    #expect(interactions.map(\.request.method) == ["POST", "GET", "GET", "PUT"])
    #expect(
      interactions.map(\.request.url) == [
        "http://api.example.com/users", "http://api.example.com/text", "http://api.example.com/image",
        "http://api.example.com/none",
      ])
    #expect(interactions[0].request.body.text == "{\"name\":\"Zo\u{EB}\",\"price\":0.00}")
    #expect(interactions[0].response.body.text == "{\"id\":7,\"total\":0.00}")
    #expect(interactions[0].response.headers["Content-Encoding"] == nil)
    #expect(interactions[0].response.headers["Content-Length"] == "21")
    #expect(interactions[0].startedAt == "2011-11-01T04:58:44Z")
    #expect(interactions[1].response.body.text == "a, ] and \" stay,]")
    #expect(interactions[2].response.body == .bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00]))
    #expect(interactions[3].response.body.text == "aGVsbG8=")
  }

  @Test("lists what a Vinyl cassette lacks")
  func vinylLosses() throws {
    #expect(
      try Fixture.vinyl.read().lines == [
        "entry 1: response header Content-Encoding is left out, since the body was saved without it",
        "entries 2-4: \(Losses.noTime)",
        "entry 3: response.url differs from request.url: of redirects on the way only the last answer was saved",
        "entry 4: no request body was saved: the request is matched with an empty one, while Vinyl compares none",
        "entry 5: a saved error: the entry is left out",
      ])
  }

  @Test("reads a DVR cassette, whose bodies without a type are Base64")
  func dvr() throws {
    let foreign = try Fixture.dvr.read()
    #expect(
      foreign.interactions.map(\.startedAt) == [
        "2015-06-19T04:38:41.440751Z", "2015-06-19T04:38:42Z", "2015-06-19T04:38:43Z",
      ])
    #expect(foreign.interactions[0].request.body.text == "day=1")
    #expect(foreign.interactions[0].response.body.text == "{\"slots\":[1,2.50]}")
    #expect(foreign.interactions[1].response.body.text == "hello")
    #expect(foreign.interactions[2].response.headers["X-Count"] == "1")
    #expect(
      foreign.lines == [
        "name is left out", "entry 3: response header 'Odd' has no text and is left out",
        "entry 2: the same request occurs again later: DVR plays the last alone, Diorama each in its turn",
      ])
  }

  @Test("reads a body in the only possible format if its declared type is wrong")
  func mismatched() throws {
    let foreign = try read(
      """
      [{"response": {"url": "http://h/", "status": 200, "body": {"a": 1.0},
         "headers": {"Content-Type": "application/vnd.api+json", "Date": "Tue, 01 Nov 2011 04:58:44 GMT"}}},
       {"response": {"url": "http://h/", "status": 200, "body": "not * Base64",
         "headers": {"Content-Type": "image/png", "Date": "Tue, 01 Nov 2011 04:58:44 GMT"}}}]
      """)
    #expect(foreign.interactions.map(\.response.body.text) == ["{\"a\":1.0}", "not * Base64"])
    #expect(
      foreign.lines == ["entry 2: response.body is not Base64, as its type (image/png) demands: taken as text"])
  }

  @Test(
    "names the place of an error",
    arguments: [
      ("[{\"response\": {\"status\": 200}}]", "entry 1: request.url is missing"),
      ("[{\"response\": {\"url\": \"http://h/\", \"status\": \"200\"}}]", "entry 1: response.status is not a whole"),
      ("[{\"response\": {}}, 1]", "entry 2: it is not an object"),
      ("[{\"response\": {}}, {}]", "entry 2: response is missing"),
      ("[{\"response\": {},},\n]]", "line 2, column 2: expected the end"),
      ("[{\"response\": ", "line 1, column 15: expected a value, found the end"),
      ("{\"name\": \"x\", \"interactions\": 1}", "it is no DVR cassette, which has an array 'interactions'"),
    ])
  func errors(_ text: String, _ problem: String) {
    do {
      _ = try read(text)
      Issue.record("no error")
    } catch {
      #expect("\(error)".hasPrefix("a.json: \(problem)"), "\(error)")
    }
  }

  @Test("refuses a file in another format than declared")
  func wrongFormat() throws {
    #expect(throws: CodedError.self) { try read("{}", as: .vinyl) }
    #expect(throws: CodedError.self) { try read("[]", as: .dvr) }
    #expect(throws: CodedError.self) { try read("[]", as: .har) }
    #expect(throws: CodedError.self) { try read("[]", as: .vcr) }
  }
}
