import Basics
import Stubs
import Testing

@Suite("XML equality")
struct XMLEqualityTests {
  private static func matches(
    _ expected: String, _ actual: String, exempted: Set<XMLEquality.Comparison> = [], isSorted: Bool = false,
    placeholders: XMLEquality.Placeholders? = .init()
  ) throws -> Bool {
    try XMLEquality(
      Array(expected.utf8), placeholders: placeholders, exempted: exempted, ignoresOrderOfSameNames: isSorted
    ).matches(Array(actual.utf8))
  }

  @Test(
    "compares as XMLUnit does for WireMock",
    arguments: [
      ("<a><b/><c/></a>", "<a><c/><b/></a>", true), ("<a><b>1</b><b>2</b></a>", "<a><b>2</b><b>1</b></a>", false),
      (#"<a k="1" l="2"/>"#, #"<a l="2" k="1"/>"#, true), (#"<a k="1"/>"#, #"<a k="1" l="2"/>"#, false),
      (#"<a k=" 1 "/>"#, #"<a k="1"/>"#, true), ("<a/>", #"<a xmlns="u"/>"#, true), (#"<a xmlns="u"/>"#, "<a/>", false),
      (#"<a xmlns="u"/>"#, #"<a xmlns="w"/>"#, false), (#"<p:a xmlns:p="u"/>"#, #"<q:a xmlns:q="u"/>"#, true),
      (#"<p:a xmlns:p="u"/>"#, #"<a xmlns="u"/>"#, true), ("<a> x </a>", "<a>x</a>", true),
      ("<a>x  y</a>", "<a>x y</a>", false),
      ("<a><!-- c -->x</a>", "<a>x</a>", true), ("<a>x<!-- c -->y</a>", "<a>xy</a>", true),
      ("<a>x</a>", "<a><![CDATA[x]]></a>", true),
      ("<a>x<b/>y</a>", "<a>x<b/>y</a>", true), ("<a><?p d?></a>", "<a><?p e?></a>", false), ("<a/>", "<a></a>", true),
      ("<a/>", "<b/>", false), ("<a><b/></a>", "<a><b/><c/></a>", false), ("<a><b/><c/></a>", "<a><b/></a>", false),
      ("<a/>", "not xml", false), ("<a/>", "", false), ("<!DOCTYPE a><a/>", "<a/>", true),
    ] as [(String, String, Bool)])
  func documents(expected: String, actual: String, areEqual: Bool) throws {
    #expect(try Self.matches(expected, actual) == areEqual)
  }

  @Test(
    "understands placeholders",
    arguments: [
      ("<a>${xmlunit.ignore}</a>", "<a>z</a>", true), ("<a>${xmlunit.ignore}</a>", "<a/>", true),
      ("<a>${xmlunit.ignore}</a>", "<a><b/></a>", true), ("<a>${xmlunit.ignore}</a>", "<b>z</b>", false),
      (#"<a k="${xmlunit.ignore}"/>"#, #"<a k="5"/>"#, true), (#"<a k="${xmlunit.ignore}"/>"#, "<a/>", true),
      (#"<a k="${xmlunit.isNumber}"/>"#, "<a/>", false), ("<a>${xmlunit.isNumber}</a>", "<a> -1.5e3 </a>", true),
      ("<a>${ xmlunit.isNumber }</a>", "<a>x</a>", false),
      ("<a>${xmlunit.isDateTime}</a>", "<a>2020-01-01T15:00:00Z</a>", true),
      ("<a>${xmlunit.isDateTime}</a>", "<a>yesterday</a>", false),
      ("<a>${xmlunit.isDateTime(dd.MM.yyyy)}</a>", "<a>21.10.2015</a>", true),
      (#"<a>${xmlunit.matchesRegex(^\d{1,3}(px)?$)}</a>"#, "<a>12px</a>", true),
      (#"<a>${xmlunit.matchesRegex(^\d+$)}</a>"#, "<a>1x</a>", false),
      ("<a>${xmlunit.nope}</a>", "<a>${xmlunit.nope}</a>", true),
    ] as [(String, String, Bool)])
  func placeholders(expected: String, actual: String, areEqual: Bool) throws {
    #expect(try Self.matches(expected, actual) == areEqual)
  }

  @Test("reads placeholders in other delimiters, and none if they are off")
  func delimiters() throws {
    let style = XMLEquality.Placeholders(opening: #"\[\["#, closing: "]]")
    #expect(try Self.matches("<a>[[xmlunit.ignore]]</a>", "<a>z</a>", placeholders: style))
    #expect(try !Self.matches("<a>${xmlunit.ignore}</a>", "<a>z</a>", placeholders: nil))
  }

  @Test("rejects a placeholder that is only part of a text, and an invalid pattern")
  func errors() {
    for text in ["x ${xmlunit.ignore}", "${xmlunit.matchesRegex([)}", "${xmlunit.isDateTime(QQ)}"] {
      #expect(throws: CodedError.self) { try Self.matches("<a>\(text)</a>", "<a/>") }
    }
    #expect(throws: CodedError.self) { try Self.matches("<a>", "<a/>") }
  }

  @Test("does not count exempted comparisons")
  func exemptions() throws {
    #expect(try Self.matches(#"<a xmlns="u">1</a>"#, #"<a xmlns="w">1</a>"#, exempted: [.namespaceURI]))
    #expect(try Self.matches("<a>1</a>", "<b>1</b>", exempted: [.elementName]))
    #expect(try Self.matches("<a><b/></a>", "<a><b/><c/></a>", exempted: [.childCount]))
    #expect(try !Self.matches("<a><b/><c/></a>", "<a><b/></a>", exempted: [.childCount]))
    #expect(XMLEquality.Comparison(rawValue: "NAMESPACE_URI") == .namespaceURI)
  }

  @Test("ignores the order of elements with the same name if told to")
  func sameNames() throws {
    #expect(try Self.matches("<a><b>1</b><b>2</b></a>", "<a><b>2</b><b>1</b></a>", isSorted: true))
  }

  @Test(
    "has WireMock's distances",
    arguments: [
      ("<a/>", "<b/>", 1.0 / 6), ("<a>x</a>", "<a>y</a>", 1.0 / 9), (#"<a k="1" l="2"/>"#, #"<a k="1"/>"#, 0.2),
      ("<a><b/><c/></a>", "<a><c/><b/></a>", 2.0 / 14), ("<a><b/><c/></a>", "<a><b/></a>", 2.0 / 11),
      ("<a/>", "x", 1.0), ("<a/>", "<a/>", 0.0),
    ] as [(String, String, Double)])
  func distances(expected: String, actual: String, distance: Double) throws {
    let equality = try XMLEquality(Array(expected.utf8))
    #expect(abs(equality.distance(to: Array(actual.utf8)) - distance) < 1e-9)
  }

  @Test("survives 20,000 damaged documents")
  func mutations() {
    let documents = [
      #"<a xmlns:p="u"><p:b k="${xmlunit.ignore}">${xmlunit.matchesRegex([a-z]+)}</p:b><c>${xmlunit.isDateTime(dd.MM.yyyy)}</c></a>"#,
      #"<a xmlns="v"><b k="1">x<!-- c --> y</b><?p d?><![CDATA[z]]></a>"#,
    ]
    var mutations = Mutations()
    for _ in 0..<20_000 {
      guard let equality = try? XMLEquality(Array(mutations.next(of: documents).utf8), placeholders: .init()) else {
        continue
      }
      let actual = Array(mutations.next(of: documents).utf8)
      _ = equality.matches(actual)
      #expect(0...1 ~= equality.distance(to: actual))
    }
  }
}
