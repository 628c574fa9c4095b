import Basics
import Stubs
import Testing

@Suite("XML documents")
struct XMLDocumentTests {
  private static let soap = """
    <soap:Envelope xmlns:soap="urn:s"><soap:Body><m xmlns="urn:m" a="1">hi<n/></m></soap:Body></soap:Envelope>
    """

  private static func matches(_ xpath: String, _ xml: String, _ namespaces: [String: String] = [:]) throws -> [String] {
    try XMLDocument(Array(xml.utf8)).matches(xpath: xpath, namespaces: namespaces)
  }

  @Test(
    "prints nodes as WireMock does",
    arguments: [
      ("//b", "<a><b>1</b><b>2 &amp; 3</b></a>", ["<b>1</b>\n", "<b>2 &amp; 3</b>\n"]),
      ("//b/text()", "<a><b>1</b><b>2 &amp; 3</b></a>", ["1", "2 & 3"]), ("//@k", #"<a k="x&lt;"/>"#, ["x<"]),
      ("/a", "<a>t<b>u</b>v</a>", ["<a>\n  t\n  <b>u</b>\n  v\n</a>\n"]), ("//e", "<a><e></e></a>", ["<e/>\n"]),
      ("//a", #"<a z="1" k="&#10;&quot;" xmlns:q="u"/>"#, ["<a xmlns:q=\"u\" k=\"&#10;&quot;\" z=\"1\"/>\n"]),
      ("//comment()", "<a><!-- c --></a>", ["[#comment:  c ]"]),
      ("//processing-instruction()", "<a><?p d?></a>", ["[p: d]"]),
      ("/", "<a><![CDATA[<x>]]></a>", ["<a><![CDATA[<x>]]></a>\n"]), ("//missing", "<a/>", []),
      ("count(//b)", "<a><b/><b/></a>", ["2"]), ("//b = 'x'", "<a><b>x</b></a>", ["true"]),
      ("//b = 'y'", "<a><b>x</b></a>", []),
      ("string(//b)", "<a><b>x</b></a>", ["x"]), ("//c | //b", "<a><b/><c/></a>", ["<b/>\n", "<c/>\n"]),
      ("//a", "<a> <b/> </a>", ["<a>\n   \n  <b/>\n   \n</a>\n"]),
    ] as [(String, String, [String])])
  func printing(xpath: String, xml: String, expected: [String]) throws {
    #expect(try Self.matches(xpath, xml) == expected)
  }

  @Test("finds elements in any namespace by their plain names only if no namespaces are given")
  func namespaces() throws {
    let names = ["s": "urn:s", "q": "urn:m"]
    #expect(try Self.matches("//m/@a", Self.soap) == ["1"])
    #expect(try Self.matches("//Body", Self.soap).count == 1)
    #expect(try Self.matches("//*[local-name()='Body']", Self.soap).count == 1)
    #expect(try Self.matches("//m", Self.soap, names) == [])
    #expect(try Self.matches("//q:m/text()", Self.soap, names) == ["hi"])
    #expect(
      try Self.matches("//s:Body", Self.soap, names)
        == ["<soap:Body xmlns:soap=\"urn:s\">\n  <m xmlns=\"urn:m\" a=\"1\">\n    hi\n    <n/>\n  </m>\n</soap:Body>\n"]
    )
    let document = try XMLDocument(Array(Self.soap.utf8))
    for _ in 0..<2 {
      #expect(try document.matches(xpath: "//q:m", namespaces: names).count == 1)
      #expect(try document.matches(xpath: "//m").count == 1)
    }
  }

  @Test(
    "refuses what is not XML, and what could expand or read files",
    arguments: [
      ("", "empty"), ("not xml", "line 1"), ("<a>", "line 1"), ("<a></b>", "mismatch"), ("<a/><b/>", "line 1"),
      (#"<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>"#, "declares entities"),
      (#"<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>"#, "declares entities"),
      (#"<!DOCTYPE a [<!ENTITY % e SYSTEM "http://localhost/"> %e;]><a/>"#, "declares entities"),
      (String(repeating: "<a>", count: 1000), "depth"),
    ] as [(String, String)])
  func refusal(xml: String, reason: String) {
    let error = #expect(throws: CodedError.self) { try XMLDocument(Array(xml.utf8)) }
    #expect(error?.problem.contains(reason) == true, "\(error?.problem ?? "")")
  }

  @Test("loads no external document type")
  func externalSubset() throws {
    let xml = #"<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>x</a>"#
    #expect(try Self.matches("/a/text()", xml) == ["x"])
  }

  @Test("refuses more than 32 MiB")
  func size() {
    let xml = Array("<a>".utf8) + [UInt8](repeating: 0x20, count: XMLDocument.maximumSize) + Array("</a>".utf8)
    #expect(throws: CodedError.self) { try XMLDocument(xml) }
  }

  @Test(
    "explains invalid expressions",
    arguments: [
      "//[", "//x:a", "foo(", "", "unknown()", String(repeating: "(", count: 3000),
      String(repeating: "/a", count: 5000),
    ])
  func expressions(xpath: String) {
    let error = #expect(throws: CodedError.self) { try XMLDocument.check(xpath: xpath) }
    #expect(error?.problem.contains("XPath expression") == true)
  }

  @Test("ends an expression that takes too long with one error")
  func explosion() throws {
    let xml = "<a>" + String(repeating: "<b><c/></b>", count: 1000) + "</a>"
    let error = #expect(throws: CodedError.self) {
      try Self.matches("//*[count(//*[count(//*[count(//*) > 1]) > 1]) > 1]", xml)
    }
    #expect(error?.problem.contains("failed") == true)
  }

  @Test("reads, prints and compares deeply nested elements on a small stack")
  func depth() async throws {
    try await onSmallStack { () throws in
      let xml = String.nested(100, "<a>", "x", "</a>")
      #expect(try Self.matches("//a", xml).count == 100)
      #expect(try XMLEquality(Array(xml.utf8)).matches(Array(xml.utf8)))
      #expect(throws: CodedError.self) { try XMLDocument.check(xpath: .nested(4000, "(", "1", ")")) }
    }
  }

  @Test("survives 20,000 damaged documents and expressions")
  func mutations() {
    let documents = [
      Self.soap,
      #"<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE r><r a="x&lt;"><b>1</b><![CDATA[<z>]]><?pi d?></r>"#,
      "<a xmlns:p='u' p:k='1'><p:b/>&#x41;<!-- c --></a>",
    ]
    let expressions = [
      "//m[@a='1']/n | //*[local-name()='Body']", "count(//b) + string-length(//r/@a)", "//namespace::*",
      "//b[position() < 3]/..",
    ]
    var mutations = Mutations()
    for round in 0..<20_000 {
      guard let document = try? XMLDocument(Array(mutations.next(of: documents).utf8)) else { continue }
      _ = try? document.matches(
        xpath: expressions[round % expressions.count], namespaces: round % 2 == 0 ? [:] : ["p": "u"])
      _ = try? document.matches(xpath: mutations.next(of: expressions))
    }
  }
}
