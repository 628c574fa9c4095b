import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("A store of stubs")
struct StubStoreTests {
  @Test("answers with the lowest priority number, and among equals with the stub added last")
  func order() throws {
    var store = try StubStore(
      stub(#"{"urlPath": "/a"}"#, name: "first"), stub(#"{"url": "/a"}"#, name: "second"),
      stub(#"{"urlPattern": "/.*"}"#, name: "any", more: #", "priority": 9"#),
      stub(#"{"method": "GET", "urlPathPattern": "/[a-z]"}"#, name: "top", more: #", "priority": 1"#))
    do {
      let answer = try store.answer(request("POST", "/a"))
      #expect(answer == "second")
    }
    do {
      let answer = try store.answer(request("POST", "/a?x=1"))
      #expect(answer == "first")
    }
    do {
      let answer = try store.answer(request("POST", "/z"))
      #expect(answer == "any")
    }
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "top")
    }
    #expect(store.mappings.map(\.name) == ["top", "second", "first", "any"])
  }

  @Test("keeps the place of a stub that is replaced by its id, if asked to")
  func replaced() throws {
    let id = "11111111-2222-3333-4444-555555555555"
    func own(_ name: String) throws -> StubMapping {
      try stub(#"{"url": "/a"}"#, name: name, more: #", "id": "\#(id)""#)
    }
    var store = try StubStore(own("one"), stub(#"{"url": "/a"}"#, name: "other"))
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "other")
    }
    try store.add(own("two"), keepsPlace: true)
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "other")
    }
    try store.add(own("three"))
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "three")
    }
    #expect(store.count == 2)
    let results = [store.remove(id.uppercased()), store.remove(id)]
    #expect(results == [true, false])
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "other")
    }
  }

  @Test("finds stubs for one URL by the body's JSON, regardless of its formatting")
  func bodies() throws {
    func pattern(_ json: String, _ more: String = "") -> String {
      #"{"url": "/a", "bodyPatterns": [{"equalToJson": \#(json)\#(more)}]}"#
    }
    var store = try StubStore(
      stub(pattern(#"{"x": 1, "y": [2]}"#), name: "old"), stub(pattern(#"{"y": [2], "x": 1.0}"#), name: "same"),
      stub(pattern(#"{"x": 2}"#), name: "other"),
      stub(pattern(#"{"x": 1}"#, #", "ignoreExtraElements": true"#), name: "extra"),
      stub(#"{"url": "/a", "bodyPatterns": [{"equalToJson": {"x": 3}}, {"contains": "z"}]}"#, name: "both"),
      stub(#"{"url": "/a", "bodyPatterns": [{"contains": "plain"}]}"#, name: "text"))
    for (body, expected) in [
      (#"{"y":[2],"x":1}"#, "extra"), (#"{"x": 20e-1}"#, "other"), (#"{"x": 5, "x": 2}"#, "other"), ("plain", "text"),
      (#"{"x": 3}"#, nil), (#"{"x": 3 } "#, nil), ("", nil), ("{", nil),
    ] {
      let answer = try store.answer(request("POST", "/a", [:], body))
      #expect(answer == expected, "\(body)")
    }
    for (removed, expected) in [("extra", "same"), ("same", "old"), ("old", nil)] {
      store.removeAll { $0.name == removed }
      let answer = try store.answer(request("POST", "/a", [:], #"{"y":[2],"x":1}"#))
      #expect(answer == expected, "without \(removed)")
    }
  }

  @Test("finds stubs by URL, path, path template and pattern, whatever the index makes of them")
  func index() throws {
    for (pattern, targets, others) in [
      (#"{"url": "/a?x=1"}"#, ["/a?x=1"], ["/a", "/a?x=2"]), (#"{"url": "/a"}"#, ["/a", "/a?"], ["/a/"]),
      (#"{"urlPath": "/a"}"#, ["/a", "/a?x=1"], ["/ab"]),
      (#"{"urlPathTemplate": "/orders/{id}/items/{item}"}"#, ["/orders/7/items/a%20b?x"], ["/orders/7/items/"]),
      (#"{"urlPathTemplate": "/{any}"}"#, ["/orders"], ["/", "/a/b"]),
      (#"{"urlPattern": "/orders/[0-9]+(\\?.*)?"}"#, ["/orders/12", "/orders/12?x"], ["/orders/x"]),
      (#"{"urlPattern": "/orders?"}"#, ["/order", "/orders"], ["/orderss"]),
      (#"{"urlPattern": "/a|/b"}"#, ["/a", "/b"], ["/c"]), (#"{"urlPattern": "(?i)/A"}"#, ["/a"], ["/b"]),
      (#"{"urlPathPattern": "/x/y.*"}"#, ["/x/y", "/x/yz?q"], ["/x"]), ("{}", ["/", "/x"], []),
    ] as [(String, [String], [String])] {
      var store = try StubStore(stub(pattern))
      for target in targets + others {
        let answer = try store.answer(request("GET", target))
        #expect((answer != nil) == targets.contains(target), "\(pattern) \(target)")
      }
    }
  }

  @Test("tells which stub answers a URL whatever else the request has, and when that depends on more")
  func constant() throws {
    var store = try StubStore(stub(#"{"url": "/a"}"#, name: "plain"))
    #expect(store.constant(method: "GET", target: "/a")?.name == "plain")
    #expect(store.constant(method: "GET", target: "/b") == nil)
    for more in [
      #"{"url": "/a", "headers": {"X": {"equalTo": "1"}}}"#, #"{"urlPath": "/a", "bodyPatterns": [{"absent": true}]}"#,
    ] {
      let decisive = try stub(more, name: "decisive")
      try store.add(decisive)
      #expect(store.constant(method: "GET", target: "/a") == nil, "\(more)")
      store.remove(decisive.id)
    }
    let delayed = try mapping(#"{"request": {"url": "/a"}, "response": {"fixedDelayMilliseconds": 1}}"#)
    try store.add(delayed)
    #expect(store.constant(method: "GET", target: "/a") == nil)
    store.remove(delayed.id)
    #expect(store.constant(method: "GET", target: "/a")?.name == "plain")
  }

  @Test("moves scenarios on with each answer, sets and resets them")
  func scenarios() throws {
    func step(_ name: String, _ required: String, _ next: String) throws -> StubMapping {
      try stub(
        #"{"url": "/a"}"#, name: name,
        more: #", "scenarioName": "s", "requiredScenarioState": "\#(required)", "newScenarioState": "\#(next)""#)
    }
    var store = try StubStore(step("one", "Started", "two"), step("two", "two", "three"))
    #expect(store.scenarios.map(\.state) == ["Started"])
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "one")
    }
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "two")
    }
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == nil)
    }
    let first = try #require(store.mappings.first)
    #expect(store.obstacle(first, request()) == "the scenario 's' is in the state 'three', not 'two'")
    store.setState("two", of: "s")
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "two")
    }
    store.resetScenarios()
    do {
      let answer = try store.answer(request("GET", "/a"))
      #expect(answer == "one")
    }
    #expect(store.scenarios.first?.possibleStates == ["Started", "three", "two"])
  }

  @Test("lists unused stubs, and those nearest to a request with what differs")
  func nearest() throws {
    var store = try StubStore(
      stub(#"{"method": "POST", "urlPath": "/orders", "headers": {"X-Plan": {"equalTo": "premium"}}}"#, name: "order"),
      stub(#"{"url": "/somewhere/else"}"#, name: "far"))
    let near = request("POST", "/orders", ["X-Plan": "basic"])
    do {
      let answer = try store.answer(near)
      #expect(answer == nil)
    }
    let found = store.nearest(near, context)
    #expect(found.map(\.mapping.name) == ["order", "far"])
    #expect(found.first?.mapping.request.differences(near, context) == ["the header X-Plan 'basic' does not match"])
    let other = request("GET", "/order")
    #expect(
      found.first?.mapping.request.differences(other, context) == [
        "the method is not POST", "the URL is not /orders", "the header X-Plan is missing",
      ])
    #expect(store.unused.map(\.name) == ["order", "far"])
    do {
      let answer = try store.answer(request("POST", "/orders", ["x-plan": "premium"]))
      #expect(answer == "order")
    }
    #expect(store.unused.map(\.name) == ["far"])
  }

  @Test("looks two thousand stubs up by their URL, not one after the other")
  func many() throws {
    var store = StubStore()
    for number in 0..<2_000 { try store.add(stub(#"{"url": "/\#(number)"}"#, name: "\(number)")) }
    // A condition that would be tried for every request exceeds its limit if it is tried at all.
    let explosive = try stub(#"{"urlPathTemplate": "/never/{x}", "bodyPatterns": [{"matches": "(a+)+"}]}"#)
    try store.add(explosive)
    let body = String(repeating: "a", count: 40) + "!"
    for number in stride(from: 0, to: 2_000, by: 97) {
      do {
        let answer = try store.answer(request("POST", "/\(number)", [:], body))
        #expect(answer == "\(number)")
      }
    }
    let error = #expect(throws: CodedError.self) { try store.answer(request("POST", "/never/1", [:], body)) }
    #expect(error?.message == "stub stub: the pattern '(a+)+' takes too long; avoid nested repetitions")
  }
}
