@testable import CassetteChecks
import Testing

@testable import Cassettes

@Suite("Drift between two cassettes")
struct CassetteDiffTests {
  private func diff(_ old: Recording, _ new: Recording) throws -> [String] {
    try CassetteDiff(old: old, new: new).entries.flatMap { entry in
      let place = "\(entry.old.map(String.init) ?? "-") \(entry.new.map(String.init) ?? "-")"
      return [place] + entry.request.lines.map { "request \($0)" } + entry.response.lines
    }
  }

  @Test("finds no difference between a cassette and itself")
  func same() throws {
    let one = Recording.of(.call("GET", "/a?x=1&y=2", #"{"a":1}"#), .call("POST", "/a", sends: #"{"b":1,"c":2}"#))
    let two = Recording.of(.call("GET", "/a?y=2&x=1", #"{"a":1}"#), .call("POST", "/a", sends: #"{"c":2,"b":1.0}"#))
    #expect(try diff(one, one) == [])
    #expect(try diff(one, two) == [])
  }

  @Test("reports what was removed, added, changed in place or moved")
  func entries() throws {
    let old = Recording.of(
      .call("GET", "/a", #"{"a":1}"#), .call("GET", "/gone", "{}"), .call("GET", "/c", #"{"a":1}"#))
    let new = Recording.of(
      .call("GET", "/c", #"{"a":"1"}"#), .call("GET", "/a", #"{"a":2}"#), .call("PUT", "/new", sends: "{}"))
    #expect(try diff(old, new) == ["0 1", "1 -", "2 0", "body $.a: was a number, is a string", "- 2"])
  }

  @Test("pairs repeats of a request in order")
  func repeats() throws {
    let old = Recording.of(.call("GET", "/a", #"{"a":1}"#), .call("GET", "/a", #"{"a":2}"#))
    let new = Recording.of(
      .call("GET", "/a", #"{"a":1}"#), .call("GET", "/a", #"{"a":2}"#), .call("GET", "/a", #"{"a":3}"#))
    #expect(try diff(old, new) == ["- 2"])
  }

  @Test("pairs changed requests by the same path, then by a path with other ids")
  func changedRequests() throws {
    let old = Recording.of(
      .call("POST", "/users", sends: #"{"email":"a@b","age":1}"#), .call("GET", "/users/17?page=1", "{}"))
    let new = Recording.of(
      .call("POST", "/users", sends: #"{"email":"c@d","name":"x"}"#), .call("GET", "/users/18?size=1", "{}"))
    #expect(
      try diff(old, new) == [
        "0 0", "request body $.age: gone, was a number", "request body $.name: new, a string", "1 1",
        "request query item `page`: gone, was a string", "request query item `size`: new, a string",
      ])
  }

  @Test("treats fields as optional that some recordings of a request lack")
  func evidence() throws {
    let old = Recording.of(
      .call("GET", "/items?page=1", #"{"items":[{"a":1}],"next":"x"}"#), .call("GET", "/items?page=2", #"{"items":[]}"#)
    )
    let new = Recording.of(
      .call("GET", "/items?page=1", #"{"items":[{"a":1}]}"#),
      .call("GET", "/items?page=2", #"{"items":[{"a":1}],"next":"y"}"#))
    #expect(try diff(old, new) == ["0 0", "1 1"])
  }

  @Test("pairs by the upstream's name, whatever its address")
  func backends() throws {
    var moved = Interaction.call("GET", "/a", "{}")
    moved.request.url = "http://127.0.0.1:1/a"
    var other = moved
    other.upstream = "other"
    #expect(try diff(.of(.call("GET", "/a", "{}")), .of(moved)) == [])
    #expect(try diff(.of(.call("GET", "/a", "{}")), .of(other)) == ["0 -", "- 0"])
  }
}
