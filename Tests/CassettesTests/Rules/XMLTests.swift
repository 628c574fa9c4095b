import Testing

@testable import Cassettes

@Suite("XML bodies")
struct XMLTests {
  private static let rule = #"{"rules": [{"compare": {"body": "xml"}}]}"#

  private func areSame(_ one: String, _ other: String, _ rule: String? = XMLTests.rule) throws -> Bool {
    try CassettesTests.areSame(Sent("POST", type: "text/xml", one), Sent("POST", type: "text/xml", other), rule)
  }

  @Test(
    "are equal by structure",
    arguments: [
      ("<a x='1' y=\"2\"/>", "<a  y='2'\n x='1' ></a >"),
      ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>\n  <b>1</b>\n</a>\n", "<a><b>1</b></a>"),
      ("<s:a xmlns:s='urn:x'><s:b/></s:a>", "<a xmlns='urn:x'><t:b xmlns:t='urn:x'/></a>"),
      ("<a>x &amp; &#x79;<![CDATA[<z>]]></a>", "<a><!-- c -->x &#38; y&lt;z&gt;<?p i?></a>"),
      ("<a p:x='1' xmlns:p='u'/>", "<a xmlns:q='u' q:x='1'/>"),
      ("<a>l1\r\nl2</a>", "<a>l1\nl2</a>"),
      ("\u{FEFF}<a/>", "<a/>"),
    ])
  func same(one: String, other: String) throws {
    #expect(try areSame(one, other))
    #expect(try !areSame(one, other, nil))
  }

  @Test(
    "differ by elements, text, attributes, namespaces and order",
    arguments: [
      ("<a/>", "<b/>"), ("<a>1</a>", "<a>2</a>"), ("<a x='1'/>", "<a x='2'/>"), ("<a x='1'/>", "<a y='1'/>"),
      ("<a xmlns='u'/>", "<a xmlns='v'/>"), ("<a xmlns='u'/>", "<a/>"), ("<a><b/><c/></a>", "<a><c/><b/></a>"),
      ("<a><b/></a>", "<a><b/><b/></a>"), ("<a> 1</a>", "<a>1</a>"), ("<a x='1'/>", "<a xmlns:p='u' p:x='1'/>"),
      ("<a><b>1</b></a>", "<a>1<b/></a>"), ("<a><![CDATA[ ]]></a>", "<a></a>"),
    ])
  func differ(one: String, other: String) throws {
    #expect(try !areSame(one, other))
  }

  @Test(
    "do not count as XML if malformed or with a document type",
    arguments: [
      "", "x", "<", "<a", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "x<a/>", "<a x=1/>", "<a x='1' x='2'/>",
      "<p:a/>", "<a>&nbsp;</a>", "<a>&#xFFFFFFFF;</a>", "<a>&", "<a x='<'/>",
      "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
      "<!-- <a/>", "<a><![CDATA[</a>", "<?xml encoding='utf-16'?><a/>", "<>", "< a/>", "<a x='1'y='2'/>", "<a/",
      "<![CDATA[x]]>",
    ])
  func broken(text: String) throws {
    #expect(Array(text.utf8).withUnsafeBytes { XMLContent($0) } == nil)
    #expect(try areSame(text, text))
  }

  @Test(
    "omit what a pattern matches across tags",
    arguments: [
      ("<sentAt>[^<]*</sentAt>", "<a><sentAt>1</sentAt><b/></a>", "<a>\n  <b/>\n</a>", true),
      ("(?<=<sentAt>)[^<]+", "<a><sentAt>1</sentAt></a>", "<a><sentAt>22</sentAt></a>", true),
      ("(?<=<sentAt>)[^<]+", "<a><sentAt>1</sentAt><b>1</b></a>", "<a><sentAt>22</sentAt><b>2</b></a>", false),
      (
        "<(\\\\w+:)?Header>.*?</(\\\\w+:)?Header>", "<e><h:Header xmlns:h='u'>1</h:Header></e>",
        "<e><Header>2</Header></e>", false
      ),
      (
        "<s:Header>(?s:.*?)</s:Header>", "<s:e xmlns:s='u'><s:Header><t>1</t></s:Header></s:e>",
        "<s:e xmlns:s='u'><s:Header/></s:e>", false
      ),
      (
        "<s:Header>(?s:.*?)</s:Header>", "<s:e xmlns:s='u'><s:Header><t>1</t></s:Header></s:e>",
        "<s:e xmlns:s='u'><s:Header>\n</s:Header></s:e>", true
      ),
      (" nonce='[^<']*'(?=>)", "<a nonce='1'>x</a>", "<a nonce='2'>x</a>", true),
      // Not XML any more without the tag, so the rest is compared byte by byte.
      ("<b>", "<a><b>1</b></a>", "<a><b>1</b></a>", true), ("<b>", "<a><b>1</b></a>", "<a><b>1</b> </a>", false),
      // A set that leaves markup out is about the text.
      ("[^<>]+", "<a>1</a>", "<a>2</a>", true), ("[^<>]+", "<a>1</a>", "<b>1</b>", false),
    ])
  func markup(pattern: String, one: String, other: String, isSame: Bool) throws {
    let rule = "{\"rules\": [{\"compare\": {\"body\": \"xml\"}, \"ignore\": {\"pattern\": [\"\(pattern)\"]}}]}"
    #expect(try areSame(one, other, rule) == isSame)
  }

  @Test("omit the text and attribute values that a pattern matches")
  func patterns() throws {
    let rule = #"{"rules": [{"compare": {"body": "xml"}, "ignore": {"pattern": ["\\d+"]}}]}"#
    #expect(try areSame("<a t='12'>x3</a>", "<a t='4'>x567</a>", rule))
    #expect(try !areSame("<a1/>", "<a2/>", rule))
  }

  @Test("may be nested to any depth")
  func deep() throws {
    let text = String(repeating: "<a>", count: 20_000) + String(repeating: "</a>", count: 20_000)
    #expect(try areSame(text, text + "\n"))
  }
}
