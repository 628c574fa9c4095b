import Basics
import Foundation
import ScenarioReports
import Testing

@Suite("HTML report")
struct HTMLReportTests {
  private let feature = """
    Feature: Booking
      About booking.

      Rule: Once
        @slow
        Scenario: one
          Given 3 slots at "9"
            | doctor | time |
            | Green  | 9    |
          Then b
            \"\"\"
            a text
            \"\"\"
        Scenario: two
          Given c
    """

  private func html(_ sample: SampleRun, title: String? = nil) -> String {
    HTMLReport.html(sample.messages, title: title)
  }

  private func count(_ text: String, in html: String) -> Int { html.components(separatedBy: text).count - 1 }

  @Test(
    "says in the title whether the run passed",
    arguments: [
      ([], "All 2 scenarios passed – Clinic"),
      ([SampleRun.Result(status: .failed, message: "m")], "1 of 2 scenarios failed – Clinic"),
      (
        [.init(status: .skipped), .init(status: .skipped)], "Passed: 1 of 2 scenarios; the others were skipped – Clinic"
      ),
    ])
  func title(results: [SampleRun.Result], title: String) throws {
    #expect(html(try SampleRun(feature, attempts: [[results]]), title: "Clinic").contains("<title>\(title)</title>"))
  }

  @Test("fails a run without scenarios that did not finish")
  func unfinishedRun() throws {
    let page = html(try SampleRun("Feature: empty\n", finishes: false))
    #expect(page.contains("<title>The run failed</title>"))
    #expect(page.contains("The process ended during the run"))
  }

  @Test("shows features, rules, scenarios and steps with arguments, tables and texts")
  func content() throws {
    let arguments = [
      Message.StepMatchArgument(group: .init(start: 0, value: "3"), parameterTypeName: "int"),
      .init(group: .init(start: 11, value: "\"9\""), parameterTypeName: "string"),
    ]
    let page = html(try SampleRun(feature, attempts: [[[.init(arguments: arguments)]]]))
    for part in [
      "<span class=\"keyword\">Feature</span> Booking</h2>", "About booking.",
      "<span class=\"keyword\">Rule</span> Once</h3>",
      "<h4>one</h4>", "@slow", "<b class=\"keyword\">Given </b><mark>3</mark> slots at <mark>&quot;9&quot;</mark></p>",
      "<td>doctor</td><td>time</td>", "<pre class=\"doc\">a text</pre>", "1.50 s", "Tests/clinic.feature:6",
    ] {
      #expect(page.contains(part), "\(part)")
    }
  }

  @Test("marks arguments whose offsets are UTF-16 code units or scalars")
  func offsets() throws {
    for start in [4, 3] {
      let argument = Message.StepMatchArgument(group: .init(start: start, value: "7"))
      let page = html(
        try SampleRun("Feature: f\n  Scenario: s\n    Given 😀  7 is\n", attempts: [[[.init(arguments: [argument])]]]))
      #expect(page.contains("😀  <mark>7</mark> is"), "\(start)")
    }
  }

  @Test("puts what failed and what to do before the steps")
  func miss() throws {
    let page = html(
      try SampleRun(
        feature, attempts: [[[.init(status: .failed, message: "status 404\nsecond line")]]],
        attachments: [("application/vnd.diorama.report+json", missReport)]))
    let places = [
      "<h2 id=\"failures\">What failed</h2>", "Not recorded: GET http://a/b", "<h2 id=\"f1\">",
      "<details class=\"scenario failed\" data-status=\"failed\" open>", "Not recorded: GET http://a/b",
      "Nearest: interaction 4, GET http://a/c", "path: recorded c, got b", "compared by a rule",
      "<b>To fix it: </b>ignore it",
      "{&quot;matching&quot;: {&quot;rules&quot;: [{&quot;path&quot;: &quot;/b&quot;}]}}",
      "<p class=\"headline\">status 404</p><pre>second line</pre>", "Tests/clinic.feature:7", "Tests/Steps.swift:8",
      "<ol class=\"steps\"",
    ]
    var rest = page[...]
    for place in places {
      let range = try #require(rest.range(of: place), "\(place)")
      rest = rest[range.upperBound...]
    }
  }

  @Test("lists each snippet of undefined steps once, at the top")
  func undefined() throws {
    let result = SampleRun.Result(status: .undefined, snippet: "Given(\"a <b>\") { }")
    let page = html(try SampleRun(feature, attempts: [[[result]], [[result]]]))
    let top = try #require(page.range(of: "<h2 id=\"undefined\">"))
    let features = try #require(page.range(of: "<div id=\"features\">"))
    #expect(count("Given(&quot;a &lt;b&gt;&quot;) { }", in: String(page[top.lowerBound..<features.lowerBound])) == 1)
    #expect(page.contains("Tests/clinic.feature:7") && page.contains("Tests/clinic.feature:15"))
  }

  @Test("names both places of an ambiguous step")
  func ambiguous() throws {
    let page = html(try SampleRun(feature, attempts: [[[.init(status: .ambiguous, definitions: ["a", "{word}"])]]]))
    #expect(page.contains("<code>a</code> <code class=\"place\">Tests/Steps.swift:8</code>"))
    #expect(page.contains("<code>{word}</code> <code class=\"place\">Tests/Steps.swift:9</code>"))
  }

  @Test("shows the environment's requests, clock, strings and notes")
  func environment() throws {
    let journal = """
      {"number":1,"time":"2026-01-01T00:00:00Z","kind":"replayed","method":"GET","url":"http://a/1","status":200,"interaction":3}
      {"number":2,"time":"2026-01-01T00:00:00.5Z","kind":"unmatched","method":"PUT","url":"http://a/2","status":404}
      {"number":3,"time":"2026-01-01T00:00:01Z","kind":"clock","detail":"advanced by 10 min"}
      {"number":4,"time":"2026-01-01T00:00:01Z","kind":"string","detail":"reference, ordinal 0"}
      {"number":5,"time":"2026-01-01T00:00:01Z","kind":"note","method":"","url":"","status":409,"detail":"not recorded"}
      """
    let report = """
      {"mode":"replay","cassette":"c.har","clock":{"kind":"manual","start":"2018-10-08T09:00:00Z","now":"2018-10-08T09:10:00Z"},
      "requests":{"total":2},"toggles":{"read":{"currency":"GBP"},"unread":[]},"strings":{"read":1,"missing":[],"unused":[]},
      "unmatched":[],"ok":true}
      """
    let page = html(
      try SampleRun(
        feature,
        attachments: [
          ("application/vnd.diorama.journal+ndjson", journal), ("application/vnd.diorama.report+json", report),
        ]))
    for part in [
      "replay, 2 requests", "<dd>c.har</dd>", "manual, 2018-10-08T09:00:00Z to 2018-10-08T09:10:00Z", "currency = GBP",
      "<td class=\"url\">http://a/1</td><td>200</td><td>cassette, interaction 3</td>",
      "<tr class=\"bad\"><td class=\"time\">+0.500 s</td><td>PUT</td>", "+1.000 s: advanced by 10 min",
      "+1.000 s: reference, ordinal 0", "+1.000 s: not recorded",
    ] {
      #expect(page.contains(part), "\(part)")
    }
    #expect(!page.contains("vnd.diorama"))
  }

  @Test("shows attachments by their media type")
  func attachments() throws {
    let svg = "<svg onload=alert(1)>"
    let page = html(
      try SampleRun(
        feature,
        attempts: [
          [
            [
              .init(attachments: [
                ("text/x.cucumber.log+plain", "a \u{1B}[31mlog\u{1B}[0m"), ("application/json", #"{"a":[true]}"#),
                ("text/uri-list", "https://a.example/x\njavascript:alert(1)"),
                ("text/html", "<script>alert(1)</script>"),
                ("image/svg+xml", svg), ("application/x\" onclick=\"y", "z"),
              ])
            ]
          ]
        ]))
    for part in [
      "<pre class=\"log\">a log</pre>", "{\n  &quot;a&quot;: [\n    true\n  ]\n}",
      "<a href=\"https://a.example/x\" rel=\"noopener noreferrer\">", "<span>javascript:alert(1)</span>",
      "&lt;script&gt;alert(1)&lt;/script&gt;",
      "<img src=\"data:image/svg+xml;base64,\(Data(svg.utf8).base64EncodedString())\" alt=",
      "<a href=\"data:application/octet-stream;base64,eg==\" download=\"attachment\">",
    ] {
      #expect(page.contains(part), "\(part)")
    }
  }

  @Test("escapes all text, and permits only its own script and style")
  func escaping() throws {
    let evil = "<script>alert('&\"')</script>\u{1}"
    let page = HTMLReport.html(
      try SampleRun(
        "Feature: \(evil)\n  @\(evil)\n  Scenario: \(evil)\n    Given \(evil)\n      | \(evil) |\n", uri: evil,
        attempts: [[[.init(status: .failed, message: evil)]]]
      ).messages, title: evil)
    #expect(count("<script", in: page) == 1)
    #expect(count("alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;\u{2401}", in: page) > 5)
    #expect(page.contains("default-src &#39;none&#39;"))
    let nonces = page.components(separatedBy: "nonce=\"").dropFirst().map { $0.prefix(24) }
    #expect(nonces.count == 2 && Set(nonces).count == 1)
    #expect(count("nonce-\(nonces[0])&#39;", in: page) == 2)
    #expect(!page.contains(" style="))
    #expect(HTMLReport.html([]).components(separatedBy: "nonce=\"")[1].prefix(24) != nonces[0])
  }

  @Test("folds earlier attempts, with their errors")
  func attempts() throws {
    let page = html(try SampleRun(feature, attempts: [[[.init(status: .failed, message: "late")], []]]))
    #expect(page.contains("Attempt 1 failed "))
    #expect(page.contains("<pre class=\"error\">late</pre>"))
    #expect(page.contains("data-status=\"passed\" data-flaky>"))
    #expect(page.contains("All 2 scenarios passed"))
  }

  @Test("renders the compatibility kit's messages", arguments: KitSample.all)
  func kit(sample: KitSample) throws {
    let messages = try sample.messages()
    let page = HTMLReport.html(messages)
    let started = Set(
      messages.compactMap { message in
        if case .testCaseStarted(let started) = message { started.testCaseId } else { nil }
      })
    #expect(count("<details class=\"scenario ", in: page) == started.count)
    let isSuccess = try sample.text().contains(#""success":true"#)
    #expect(page.contains("<header class=\"page \(isSuccess ? "passed" : "failed")\">"))
  }
}
