import Basics
import ControlAPI
import EnvironmentConfiguration
import Foundation
import Testing

@testable import RunComparison

@Suite("Comparing the traces of runs")
struct TraceComparisonTests {
  private func request(
    _ number: Int, _ url: String, method: String = "GET", body: String? = nil, key: String? = nil,
    headers: [String: String] = [:], interaction: Int? = 0, answeredBefore: Int? = nil, rule: String? = nil
  ) -> Trace.Request {
    Trace.Request(
      number: number, answeredBefore: answeredBefore ?? number - 1, method: method, url: url,
      headers: headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) },
      body: body.map { Array($0.utf8) }, size: body?.utf8.count, key: key,
      answer: .init(
        kind: interaction == nil ? "unmatched" : "replayed", status: interaction == nil ? 501 : 200,
        interaction: interaction), rule: rule)
  }

  private func trace(
    _ run: Int, _ requests: [Trace.Request] = [], output: String = "", status: Int32 = 0,
    toggles: [String: JSON] = [:], strings: Report.Strings = .init(), processes: ClosedRange<Int>? = nil
  ) -> Trace {
    let start = 1_700_000_000 + Double(run) * 10
    var trace = Trace(facts: .init(run: run, time: start...start + 5, processes: processes))
    trace.requests = requests
    trace.output = Array(output.utf8)
    (trace.status, trace.commandStatus) = (status, status)
    (trace.toggles, trace.strings) = (toggles, strings)
    return trace
  }

  @Test("finds nothing in equal runs")
  func equal() {
    let requests = [request(1, "http://h/a"), request(2, "http://h/b", interaction: 1)]
    let comparison = TraceComparison([1, 2, 3].map { trace($0, requests, output: "one\n") })
    #expect(comparison.groups == [[1, 2, 3]])
    #expect(comparison.differences.isEmpty)
    #expect(comparison.notes.isEmpty)
  }

  @Test("names the query item that differs, and its values")
  func query() throws {
    let runs = (1...3).map { run in
      trace(run, [request(1, "http://h/a?x=1&at=17000000\(run)0.5", key: "\(run)", interaction: nil, rule: "{}")])
    }
    let comparison = TraceComparison(runs)
    #expect(comparison.groups == [[1], [2], [3]])
    let found = try #require(comparison.differences.first)
    #expect(found.place == "request 1, GET http://h/a?x=1&at=1700000010.5, query item `at`")
    #expect(found.byte == 26)
    #expect(found.kind == .instant)
    #expect(found.values.map(\.text) == ["1700000010.5", "1700000020.5", "1700000030.5"])
    #expect(found.levers.last == "or ignore it with this rule in diorama.json: {}")
  }

  @Test("names the path of a value in a JSON body")
  func body() throws {
    let runs = ["7f", "80"].enumerated().map { index, id in
      trace(
        index + 1,
        [
          request(
            1, "http://h/a", method: "POST", body: #"{"a": {"b": ["x", "3b241101-e2bb-4255-8caf-4136c566a9\#(id)"]}}"#)
        ])
    }
    let found = try #require(TraceComparison(runs).differences.first)
    #expect(found.place == "request 1, POST http://h/a, body $.a.b[1]")
    #expect(found.kind == .uuid)
  }

  @Test("prints the rule that ignores a part of a request, of any kind, if matching rules apply")
  func rules() throws {
    for (bodies, path) in [
      ([#"{"n": 0.9661538560514998}"#, #"{"n": 0.3866326104588602}"#], "$.n"),
      ([#"{"tags": ["a", "b"]}"#, #"{"tags": ["b", "a"]}"#], "$.tags"),
      ([#"{"file": "/tmp/abc/x"}"#, #"{"file": "/tmp/def/x"}"#], "$.file"),
    ] {
      func levers(hasKey: Bool) throws -> [String] {
        let runs = bodies.enumerated().map { index, body in
          trace(
            index + 1,
            [
              request(
                1, "http://h/rand", method: "POST", body: body, key: hasKey ? body : nil, interaction: nil)
            ])
        }
        return try #require(TraceComparison(runs).differences.first).levers
      }
      #expect(
        try levers(hasKey: true).last == "or ignore it with this rule in diorama.json: "
          + #"{"matching": {"rules": [{"method": "POST", "path": "/rand", "ignore": {"json": ["\#(path)"]}}]}}"#)
      #expect(try !levers(hasKey: false).contains { $0.contains("diorama.json") })
    }
  }

  @Test("lists each request that differs, at most ten")
  func several() {
    for count in [3, 15] {
      let runs = (1...2).map { run in
        trace(
          run,
          (1...count).map {
            request($0, "http://h/\($0)", method: "POST", body: "{\"n\": \(run)}", key: "\($0) \(run)")
          })
      }
      let comparison = TraceComparison(runs)
      let places = comparison.differences.map(\.place)
      #expect(places == (1...min(count, 10)).map { "request \($0), POST http://h/\($0), body $.n" })
      #expect(comparison.notes == (count > 10 ? ["5 more requests differ"] : []))
    }
  }

  @Test("does not compare what the matching rules ignore: the key is equal")
  func ignored() {
    let runs = (1...2).map { run in
      trace(run, [request(1, "http://h/a?t=\(run)", method: "POST", body: "{\"at\": \(run)}", key: "k")])
    }
    #expect(TraceComparison(runs).differences.isEmpty)
  }

  @Test("compares header fields in any order, without ignored ones")
  func headers() throws {
    let runs = (1...2).map { run in
      trace(run, [request(1, "http://h/a", key: "k", headers: ["X-Callback": "http://127.0.0.1:4000\(run)/done"])])
    }
    let found = try #require(TraceComparison(runs).differences.first)
    #expect(found.place.hasSuffix("header X-Callback"))
    #expect(found.kind == .port)
    #expect(found.position.hasSuffix("header X-Callback, byte 21"))
    #expect(found.levers.contains { $0.contains("--ignore-header X-Callback") })
    #expect(TraceComparison(runs, ignoredHeaders: ["x-callback"]).differences.isEmpty)
    var (one, other) = (request(1, "http://h/a", headers: ["A": "1", "B": "2"]), request(1, "http://h/a"))
    one.headers.append(.init(name: "Cookie", value: "a=1; b=2"))
    other.headers = one.headers.reversed()
    other.headers[0].value = "b=2; a=1"
    one.headers.append(.init(name: "Content-Length", value: "0"))
    #expect(TraceComparison([trace(1, [one]), trace(2, [other])]).differences.isEmpty)
  }

  @Test("reports a request that only some runs made")
  func extra() throws {
    let comparison = TraceComparison([
      trace(1, [request(1, "http://h/a")]),
      trace(2, [request(1, "http://h/a"), request(2, "http://h/b", method: "DELETE")]),
    ])
    let found = try #require(comparison.differences.first)
    #expect(found.place == "request 2, DELETE http://h/b")
    #expect(found.kind == .extra)
    #expect(found.values.first == .init(runs: [1], text: nil))
  }

  @Test("another order of the same requests is a note, not a difference")
  func order() {
    let (a, b) = (request(1, "http://h/a"), request(2, "http://h/b", interaction: 1, answeredBefore: 0))
    let swapped = [request(1, "http://h/b", interaction: 1), request(2, "http://h/a")]
    let comparison = TraceComparison([trace(1, [a, b]), trace(2, swapped)])
    #expect(comparison.differences.isEmpty)
    #expect(comparison.groups == [[1, 2]])
    #expect(comparison.notes.count == 1)
    #expect(comparison.notes.first?.contains("requests overlapped in run 1") == true)
    let apart = TraceComparison([trace(1, [a, request(2, "http://h/b", interaction: 1)]), trace(2, swapped)])
    #expect(apart.notes.first?.contains("threads that take turns") == true)
  }

  @Test("another order that decides the answers is a race")
  func race() throws {
    let comparison = TraceComparison([
      trace(1, [request(1, "http://h/list"), request(2, "http://h/add", method: "POST", interaction: 1)]),
      trace(
        2, [request(1, "http://h/add", method: "POST", interaction: 1), request(2, "http://h/list", interaction: 2)]),
    ])
    let found = try #require(comparison.differences.first)
    #expect(found.kind == .race)
    #expect(found.place == "request 1, GET http://h/list, answered by")
    #expect(found.values.map(\.text) == ["interaction 0", "interaction 2"])
  }

  @Test("equal requests that overlapped and got different answers are a race, even if only the output differs")
  func ambiguity() throws {
    let overlapping = (1...3).map { request($0, "http://h/seq", interaction: $0, answeredBefore: 0) }
    let (one, other) = ("0 first\n1 second\n2 third\n", "0 second\n1 first\n2 third\n")
    let comparison = TraceComparison([trace(1, overlapping, output: one), trace(2, overlapping, output: other)])
    #expect(comparison.differences.map(\.kind) == [.race])
    #expect(comparison.notes.count == 1)
    #expect(comparison.notes.first?.contains("equal requests overlapped in run 1") == true)
    let sequential = (1...3).map { request($0, "http://h/seq", interaction: $0) }
    let ordered = TraceComparison([trace(1, sequential, output: one), trace(2, sequential, output: other)])
    #expect(ordered.differences.map(\.kind) != [.race])
    #expect(ordered.notes.isEmpty)
  }

  @Test("the same lines in another order are a race if the requests came in another order, too")
  func lines() throws {
    let requests = [request(1, "http://h/a"), request(2, "http://h/b", interaction: 1)]
    let swapped = [request(1, "http://h/b", interaction: 1), request(2, "http://h/a")]
    let raced = TraceComparison([trace(1, requests, output: "a\nb\n"), trace(2, swapped, output: "b\na\n")])
    #expect(raced.differences.first?.kind == .race)
    #expect(raced.differences.first?.reason.hasSuffix("or a loop over a set or dictionary") == true)
    let shuffled = TraceComparison([trace(1, requests, output: "a\nb\n"), trace(2, requests, output: "b\na\n")])
    #expect(shuffled.differences.first?.kind == .hashOrder)
  }

  @Test("finds a changed value among lines in another order")
  func valueAmongLines() throws {
    let comparison = TraceComparison([trace(1, output: "a\nb\nn 1\n"), trace(2, output: "b\na\nn 2\n")])
    let found = try #require(comparison.differences.first)
    #expect(found.position == "standard output, line 3, column 3")
    #expect(found.values.map(\.text) == ["n 1", "n 2"])
  }

  @Test("lists a request before strings, toggles, output and exit status, which it may have caused")
  func subjects() {
    let comparison = TraceComparison([
      trace(1, [request(1, "http://h/a")], output: "ok", toggles: ["t": .bool(true)], strings: .init(read: 1)),
      trace(
        2, [request(1, "http://h/a?x", interaction: nil)], output: "not ok", status: 1, toggles: ["t": .bool(false)],
        strings: .init(read: 2)),
    ])
    #expect(comparison.differences.map(\.subject) == [.request, .strings, .toggles, .output, .status])
  }

  @Test("output can be left out")
  func ignoredOutput() {
    let runs = [trace(1, output: "a"), trace(2, output: "b")]
    #expect(TraceComparison(runs, comparesOutput: false).differences.isEmpty)
  }

  @Test("groups runs that agree, whichever come first")
  func groups() {
    let comparison = TraceComparison([1, 2, 3, 4].map { trace($0, output: $0 % 2 == 0 ? "a" : "b") })
    #expect(comparison.groups == [[1, 3], [2, 4]])
    #expect(comparison.differences.first?.values.map(\.runs) == [[1, 3], [2, 4]])
    #expect(Difference.text(of: comparison.groups) == "groups of runs that did the same: 1, 3 | 2, 4")
    #expect(Difference.text(of: [[1], [2]]) == "every run is different")
  }

  @Test("replaces the ports and the id that Diorama chose, and no other numbers")
  func ownNames() {
    let names = OwnNames([
      "DIORAMA_ENDPOINT_API": "http://127.0.0.1:40123", "DIORAMA_PORT_WEB": "30456", "DIORAMA_ENVIRONMENT": "e-17abc",
    ])
    let replaced = [
      ("GET http://127.0.0.1:40123/a", "GET $DIORAMA_ENDPOINT_API/a"),
      ("localhost:40123", "localhost:<port of DIORAMA_ENDPOINT_API>"),
      ("listening on port 40123.", "listening on port <port of DIORAMA_ENDPOINT_API>."),
      ("serving 30456", "serving $DIORAMA_PORT_WEB"), ("id e-17abc", "id $DIORAMA_ENVIRONMENT"),
      ("order 40123", "order 40123"), ("130456 304567", "130456 304567"),
    ]
    for (text, result) in replaced { #expect(names.replaced(text) == result) }
  }

  @Test("reads the journal and the report of a run")
  func reading() throws {
    let journal = """
      {"number":1,"time":"t","kind":"note","method":"","url":"","status":0}
      {"number":2,"time":"t","kind":"replayed","method":"GET","url":"http://h/a","status":200,"interaction":3,\
      "request":{"url":"http://h/a?t=1","headers":["Accept: */*"],"body":"eA==","size":1,"key":"k","after":1}}
      {"number":3,"time":"t","kind":"unmatched","method":"GET","url":"http://h/b","status":501,"detail":"d",\
      "request":{"url":"http://h/b","headers":[],"size":0,"after":1}}
      """
    var report = Report(
      environment: .init(id: "e", name: "n"), mode: "replay", cassette: nil, recordedAt: nil,
      clock: .init(kind: "frozen", start: nil, now: ""), requests: .init(),
      unmatched: [
        .init(
          method: "GET", url: "http://h/b", nearest: [],
          fix: .init(interaction: 0, causes: [], advice: "", rule: .init(path: "/b"), isRecordable: false))
      ], unused: [], strings: .init(), toggles: .init(), durationSeconds: 0, failures: [], ok: false)
    report.commandStatus = 0
    report.variables = ["DIORAMA_ENDPOINT_API": "http://127.0.0.1:40123"]
    let trace = Trace(
      facts: .init(run: 1, time: 0...1), journal: try Trace.entries(of: Data(journal.utf8)), report: report, status: 3,
      output: Array("at http://127.0.0.1:40123".utf8), errors: [])
    #expect(trace.requests.map(\.number) == [1, 2])
    // Both arrived before the first was answered.
    #expect(trace.requests.map(\.answeredBefore) == [0, 0])
    #expect(trace.requests[0].url == "http://h/a?t=1")
    #expect(trace.requests[0].headers == [.init(name: "Accept", value: "*/*")])
    #expect(trace.requests[0].body == Array("x".utf8))
    #expect(trace.requests[0].answer == .init(kind: "replayed", status: 200, interaction: 3))
    #expect(trace.requests[1].rule?.contains("/b") == true)
    #expect(String(decoding: trace.output, as: UTF8.self) == "at $DIORAMA_ENDPOINT_API")
    #expect((trace.status, trace.commandStatus) == (3, 0))
  }
}
