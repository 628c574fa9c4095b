import Basics
import Stubs
import Testing

@Suite("Mapping files")
struct MappingReaderTests {
  @Test(
    "are refused with the member and what to do, if something in them is unknown or impossible",
    arguments: [
      (#"{"request": {"urlPth": "/a"}}"#, "request.urlPth: unknown member; did you mean 'urlPath'?"),
      (#"{"requests": {}}"#, "requests: unknown member; did you mean 'request'?"),
      (
        #"{"request": {"urlPath": "/a?b=1"}}"#,
        "request.urlPath: '/a?b=1' has a query, so it never matches; use 'url', or 'queryParameters'"
      ),
      (#"{"request": {"url": 7}}"#, "request.url: expected a string, found 7"),
      (#"{"request": {"url": "/a", "urlPath": "/a"}}"#, "request.urlPath: 'url' is also given; keep one of them"),
      (#"{"request": {"headers": {"X": "1"}}}"#, #"request.headers.X: expected an object, found 1"#),
      (
        #"{"request": {"headers": {"X": {"equlTo": "1"}}}}"#,
        "request.headers.X: has no condition; did you mean 'equalTo'?"
      ),
      (
        #"{"request": {"headers": {"X": {"equalTo": "1", "contains": "2"}}}}"#,
        #"request.headers.X.contains: 'equalTo' is also given; combine them with {"and": [{…}, {…}]}"#
      ),
      (
        #"{"request": {"bodyPatterns": [{"contains": "1", "caseInsensitive": true}]}}"#,
        "request.bodyPatterns[0].caseInsensitive: 'contains' is always case-sensitive; "
          + "use equalTo, or matches with (?i)"
      ),
      (
        #"{"request": {"urlPattern": "("}}"#,
        "request.urlPattern: '(' is not a valid regular expression: missing closing parenthesis"
      ),
      (
        #"{"request": {"customMatcher": {"name": "x"}}}"#,
        "request.customMatcher: not supported: it needs code of WireMock's own; use the other conditions"
      ),
      (
        #"{"response": {"status": 102}}"#,
        "response.status: 102 is not a status of a final response; use one from 200 to 999"
      ),
      (#"{"response": {"body": "a", "jsonBody": {}}}"#, "response.jsonBody: 'body' is also given; keep one of them"),
      (
        #"{"response": {"fault": "EMPTY_RESPONS"}}"#,
        "response.fault: 'EMPTY_RESPONS' is not a fault; did you mean EMPTY_RESPONSE?"
      ),
      (#"{"response": {"headers": {"X": "a\nb"}}}"#, "response.headers.X: no message can have this header"),
      (#"{"response": {"base64Body": "*"}}"#, "response.base64Body: not Base64"),
      (
        #"{"response": {"transformers": ["other"]}}"#,
        "response.transformers: 'other' is not known here; only response-template is"
      ),
      (
        #"{"response": {"fixedDelayMilliseconds": -1}}"#,
        "response.fixedDelayMilliseconds: expected 0 to 86400000 milliseconds, found -1.0"
      ),
      (
        #"{"response": {"delayDistribution": {"type": "poisson"}}}"#,
        "response.delayDistribution.type: 'poisson' is not valid; choose fixed, uniform or lognormal"
      ),
      (#"{"requiredScenarioState": "x"}"#, "scenarioName: missing, although a scenario state is given"),
      (#"{"id": "7"}"#, "id: '7' is not a UUID; leave it out, and one is made"),
      (#"{"postServeActions": {"other": {}}}"#, "postServeActions.other: 'other' is not known here; only webhook is"),
      ("[]", "expected an object, found []"),
    ])
  func refused(json: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try mapping(json) }
    #expect(error?.message == problem)
  }

  @Test("name the line of a template that cannot be read")
  func template() {
    let error = #expect(throws: CodedError.self) {
      try mapping(#"{"response": {"body": "{{#if x}}", "transformers": ["response-template"]}}"#)
    }
    #expect(error?.message.hasPrefix("response.body: line 1, column 1: ") == true, "\(error?.message ?? "")")
  }

  @Test("accept caseInsensitive: false with any condition")
  func caseSensitive() throws {
    let mapping = try mapping(#"{"request": {"bodyPatterns": [{"contains": "a", "caseInsensitive": false}]}}"#)
    #expect(mapping.request.body.count == 1)
  }

  @Test("hold one mapping or several, and get an id if they have none")
  func several() throws {
    let one = try JSON.parse(Array(#"{"request": {"url": "/"}}"#.utf8))
    var ids = 0
    let made = { () -> String in
      ids += 1
      return "00000000-0000-0000-0000-00000000000\(ids)"
    }
    #expect(try MappingReader.mappings(one, isTemplate: false, makeID: made).map(\.id).count == 1)
    let two = JSON.object(["mappings": .array([one, one])])
    let all = try MappingReader.mappings(two, isTemplate: false, makeID: made)
    #expect(all.map(\.id) == ["00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-000000000003"])
    #expect(all[0].source["uuid"] == .string(all[0].id))
    #expect(all[0].source["request"]?["method"] == .string("ANY"))
    #expect(all[0].source["response"]?["status"] == .int(200))
  }

  @Test("write numbers of a JSON body as WireMock does")
  func numbers() throws {
    let body = try mapping(
      #"{"response": {"jsonBody": {"a": 1.0, "b": 1.50, "c": 1e3, "d": -0.0, "e": 12345678901234567890}}}"#)
    #expect(body.response.body == .bytes(Array(#"{"a":1,"b":1.5,"c":1000,"d":0,"e":12345678901234567890}"#.utf8)))
  }
}
