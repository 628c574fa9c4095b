import Basics
import Foundation
import HTTPMessages
import Stubs
import Testing

@Suite("A request pattern")
struct RequestPatternTests {
  private func matches(_ pattern: String, _ request: StubRequest) throws -> Bool {
    try MappingReader.pattern(JSON.parse(Array(pattern.utf8))).matches(request, context)
  }

  @Test("compares headers, query parameters, form fields and cookies")
  func fields() throws {
    let form = request(
      "POST", "/p?q=1&q=2&empty=&r=x%20y+z",
      [
        "X-Plan": "Premium", "X-Many": "a", "x-many": "b", "Cookie": "sid=abc; quoted=\"a b\"",
        "Content-Type": "application/x-www-form-urlencoded",
      ], "item=one%20two&item=2")
    for (pattern, isMatch) in [
      (#"{"headers": {"x-plan": {"equalTo": "Premium"}}}"#, true),
      (#"{"headers": {"X-Plan": {"equalTo": "premium"}}}"#, false),
      (#"{"headers": {"X-Plan": {"equalTo": "PREMIUM", "caseInsensitive": true}}}"#, true),
      (#"{"headers": {"X-Many": {"equalTo": "b"}}}"#, true),
      (#"{"headers": {"X-Many": {"hasExactly": [{"equalTo": "b"}, {"equalTo": "a"}]}}}"#, true),
      (#"{"headers": {"X-Many": {"hasExactly": [{"equalTo": "b"}]}}}"#, false),
      (#"{"headers": {"X-Many": {"includes": [{"equalTo": "b"}]}}}"#, true),
      (#"{"headers": {"X-None": {"absent": true}}}"#, true), (#"{"headers": {"X-None": {"doesNotMatch": "x"}}}"#, true),
      (#"{"headers": {"X-None": {"matches": ".*"}}}"#, false),
      (#"{"queryParameters": {"q": {"equalTo": "2"}}}"#, true),
      (#"{"queryParameters": {"empty": {"absent": true}}}"#, false),
      (#"{"queryParameters": {"r": {"equalTo": "x y z"}}}"#, true),
      (#"{"formParameters": {"item": {"equalTo": "one two"}}}"#, true),
      (#"{"formParameters": {"item": {"equalTo": "three"}}}"#, false),
      (#"{"cookies": {"sid": {"matches": "[a-c]+"}}}"#, true),
      (#"{"cookies": {"quoted": {"equalTo": "a b"}}}"#, true),
      (#"{"cookies": {"none": {"doesNotMatch": "x"}}}"#, false), (#"{"cookies": {"none": {"absent": true}}}"#, true),
      (#"{"headers": {"X-Plan": {"and": [{"contains": "rem"}, {"not": {"contains": "x"}}]}}}"#, true),
      (#"{"headers": {"X-Plan": {"or": [{"equalTo": "a"}, {"absent": true}]}}}"#, false),
    ] { #expect(try matches(pattern, form) == isMatch, "\(pattern)") }
  }

  @Test("compares host, port, scheme, login and parts of the path")
  func origin() throws {
    let login = request(
      "GET", "/orders/a%20b", ["Authorization": "Basic \(Data("ann:secret".utf8).base64EncodedString())"])
    for (pattern, isMatch) in [
      (#"{"host": {"equalTo": "127.0.0.1"}, "port": 8080, "scheme": "http"}"#, true), (#"{"port": 80}"#, false),
      (#"{"basicAuthCredentials": {"username": "ann", "password": "secret"}}"#, true),
      (#"{"basicAuth": {"username": "ann", "password": "other"}}"#, false), (#"{"upstream": "api"}"#, false),
      (#"{"urlPathTemplate": "/orders/{id}", "pathParameters": {"id": {"equalTo": "a b"}}}"#, true),
      (#"{"urlPathTemplate": "/orders/{id}", "pathParameters": {"id": {"equalTo": "a"}}}"#, false),
    ] { #expect(try matches(pattern, login) == isMatch, "\(pattern)") }
  }

  @Test("compares bodies as text, bytes, JSON, XML and multipart, in the charset and coding they are sent in")
  func bodies() throws {
    let json = request("POST", "/", [:], #"{"total": 12.0, "items": [1, 2], "at": "2021-06-13T00:00:00Z"}"#)
    for (pattern, isMatch) in [
      (#"{"equalToJson": {"items": [1, 2], "total": 12, "at": "${json-unit.any-string}"}}"#, true),
      (#"{"equalToJson": "{\"total\": 12}", "ignoreExtraElements": true}"#, true),
      (#"{"equalToJson": {"items": [2, 1]}, "ignoreExtraElements": true}"#, false),
      (#"{"equalToJson": {"items": [2, 1]}, "ignoreExtraElements": true, "ignoreArrayOrder": true}"#, true),
      (#"{"matchesJsonPath": "$.items[?(@ == 2)]"}"#, true), (#"{"matchesJsonPath": "$.none"}"#, false),
      (#"{"matchesJsonPath": {"expression": "$.total", "equalTo": "12.0"}}"#, true),
      (#"{"matchesJsonPath": {"expression": "$.at", "before": "now"}}"#, true),
      (#"{"matchesJsonPath": {"expression": "$.at", "after": "now -1 days"}}"#, false),
      (#"{"matchesJsonPath": {"expression": "$.none", "absent": true}}"#, true),
      (#"{"contains": "items"}"#, true), (#"{"doesNotContain": "items"}"#, false), (#"{"matches": ".*12.*"}"#, true),
      (#"{"absent": true}"#, false),
    ] { #expect(try matches(#"{"bodyPatterns": [\#(pattern)]}"#, json) == isMatch, "\(pattern)") }
    let xml = request("POST", "/", [:], "<order id='7'><name>Tea</name></order>")
    for (pattern, isMatch) in [
      (#"{"equalToXml": "<order id=\"7\">\n  <name>Tea</name>\n</order>"}"#, true),
      (
        #"{"equalToXml": "<order id=\"${xmlunit.isNumber}\"><name>Tea</name></order>", "enablePlaceholders": true}"#,
        true
      ),
      (#"{"matchesXPath": "//name"}"#, true), (#"{"matchesXPath": "//note"}"#, false),
      (#"{"matchesXPath": {"expression": "//name/text()", "equalTo": "Tea"}}"#, true),
    ] { #expect(try matches(#"{"bodyPatterns": [\#(pattern)]}"#, xml) == isMatch, "\(pattern)") }
    let latin = StubRequest(
      method: "POST", target: "/", headers: ["Content-Type": "text/plain; charset=ISO-8859-1"], body: [0xE9],
      scheme: "http", host: "", port: 80, upstream: nil)
    #expect(try matches(#"{"bodyPatterns": [{"equalTo": "é"}]}"#, latin))
    #expect(try matches(#"{"bodyPatterns": [{"binaryEqualTo": "6Q=="}]}"#, latin) == false)
    let parts = request(
      "POST", "/", ["Content-Type": "multipart/form-data; boundary=b"],
      "--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nhello\r\n--b\r\nX-A: 1\r\n\r\nother\r\n--b--\r\n")
    for (pattern, isMatch) in [
      (#"{"bodyPatterns": [{"equalTo": "hello"}]}"#, true),
      (#"{"matchingType": "ALL", "bodyPatterns": [{"equalTo": "hello"}]}"#, false),
      (#"{"headers": {"X-A": {"equalTo": "1"}}, "bodyPatterns": [{"equalTo": "other"}]}"#, true),
      (#"{"headers": {"X-A": {"equalTo": "1"}}, "bodyPatterns": [{"equalTo": "hello"}]}"#, false),
    ] { #expect(try matches(#"{"multipartPatterns": [\#(pattern)]}"#, parts) == isMatch, "\(pattern)") }
  }
}
