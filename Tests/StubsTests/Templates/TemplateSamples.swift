import Basics
import Foundation
import HTTPMessages
import Stubs

/// The request and the parameters with which WireMock 2.35.1 rendered the expected texts of these tests.
enum TemplateSamples {
  static let body = #"""
    {"name":"Tom & \"J\"","n":3,"d":1.50,"big":12345678901,"list":[1,2,{"a":null}],"o":{"k":"v","b":true},"empty":[]}
    """#

  static let request = TemplateRequest(
    method: "POST", url: "/a/b%20c/d?q=1&q=2&x=%3Cz%3E&e=", host: "example.com", port: 8080,
    headers: Headers([
      .init("Content-Type", "application/json"), .init("X-Multi", "one"), .init("X-Multi", "two"),
      .init("Host", "example.com:8080"), .init("Cookie", "s=abc; t=1"),
    ]), body: Array(body.utf8))

  static let parameters = #"""
    {"name":"Ann","count":3,"rate":2.50,"flag":true,"off":false,"list":["a","b","c"],"map":{"k1":"v1","k2":"v2"},
    "people":[{"n":"x","age":1},{"n":"y","age":2}],"empty":[],"emptyMap":{},"html":"<b>&'\"`=</b>","none":"","zero":0,
    "xml":"<r><a id=\"1\">x</a><a>y</a></r>","nested":{"deep":{"v":[10,20]}},"with-dash":"dash","with space":"sp",
    "nil":null,"text":"The quick brown fox","lists":[[1,2],[3]]}
    """#

  /// A context whose random bytes depend on their order only.
  static func context(now: Date = Date(timeIntervalSince1970: 1_538_989_503.456)) throws -> TemplateContext {
    let generator = Guarded(SeededGenerator(state: 1))
    return TemplateContext(
      request: request, parameters: TemplateValue(try JSON.parse(Array(parameters.utf8))), now: now, hostname: "vm",
      random: { _, count in
        generator.withLock { generator in (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) } }
      }, jsonPath: values, xPath: elements)
  }

  static func render(_ template: String, now: Date = Date(timeIntervalSince1970: 1_538_989_503.456)) throws -> String {
    try Template(template, name: "body").render(context(now: now))
  }

  /// The error of a template, at parsing or rendering.
  static func error(_ template: String) -> String? {
    do throws(any Error) {
      _ = try render(template)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Calls of helpers, to put anywhere.
  static let helpers = [
    "eq ", "gt ", "and ", "not ", "contains ", "matches ", "isEven ", "yesno ", "capitalize ", "cut ",
    "defaultIfEmpty ", "join ",
    "ljust ", "lower ", "replace ", "slugify ", "stripTags ", "abbreviate ", "trim ", "base64 decode=true ",
    "urlEncode ",
    "formData ", "truncateDate ", "randomInt lower=1 ", "pickRandom ", "xPath ", "parseJson ", "toJson ", "arrayAdd ",
    "arrayJoin ", "lookup ", "val ", "assign ", "stripes ", "wordWrap ", "center size=3 ", "numberFormat ",
    "substring ",
  ]

  /// A small JSONPath: names, indices and `[*]`.
  private static func values(_ json: JSON, _ path: String) throws(CodedError) -> [JSON] {
    guard path.hasPrefix("$"), path.wholeMatch(of: /\$(\.\w+|\[\d+\]|\[\*\])*/) != nil else {
      throw CodedError(.broken, "not a path")
    }
    var found = [json]
    for step in path.matches(of: /\w+|\*/) {
      found = found.flatMap { value -> [JSON] in
        if step.0 == "*" { return value.array ?? [] }
        if let index = Int(step.0), let array = value.array {
          return array.indices.contains(index) ? [array[index]] : []
        }
        return value[String(step.0)].map { [$0] } ?? []
      }
    }
    return found
  }

  /// The answers of WireMock for the sample XML.
  private static func elements(_ xml: String, _ path: String) throws(CodedError) -> [TemplateElement]? {
    guard xml.hasPrefix("<"), xml.hasSuffix(">") else { return nil }
    let first = TemplateElement(name: "a", text: "x", attributes: [.init("id", "1")], source: "<a id=\"1\">x</a>\n")
    switch path {
    case "/r/a": return [first, TemplateElement(name: "a", text: "y", source: "<a>y</a>\n")]
    case "/r/a/text()": return [TemplateElement(name: "#text", text: "x", source: "x")]
    case "/r/a/@id": return [TemplateElement(name: "id", text: "1", source: "1")]
    case "//b": return []
    case "/Envelope/Body/a/text()": return [TemplateElement(name: "#text", text: "soap", source: "soap")]
    default: throw CodedError(.broken, "not a path")
    }
  }
}

/// A small generator whose numbers depend on its seed only (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}
