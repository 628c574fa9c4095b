@testable import CassetteChecks
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Drift of responses")
struct AnswerTests {
  private func changes(_ recorded: Answer, _ live: Answer, method: String = "GET") -> Changes {
    recorded.changes(to: live, method: method, known: nil)
  }

  @Test("reports only the status if its class changed, since an error has a different body anyway")
  func status() {
    #expect(changes(.json("{}"), .json(#"{"title":"x"}"#, status: 404)).lines == ["status: was 200, is 404"])
    #expect(
      changes(.json("{}"), .json(#"{"a":1}"#, status: 201)).lines
        == ["status: was 200, is 201", "body $.a: new, a number"])
  }

  @Test("reports a changed content type, and a changed charset as a value")
  func contentType() {
    let html = changes(.json("{}"), .of("text/html", "<p>"))
    #expect(html.lines == ["content type: was application/json, is text/html"])
    let charset = changes(.of("text/plain", "a"), .of("text/plain; charset=utf-8", "a"))
    #expect(charset.lines == [])
    #expect(charset.valueLines == ["content type: was text/plain, is text/plain; charset=utf-8"])
    let none = changes(.json("{}"), Answer(status: 200, headers: [:], body: []))
    #expect(none.lines == ["content type: was application/json, is none"])
  }

  @Test("reports changed headers that matter to programs, and cookies and method lists by name")
  func headers() {
    func lines(_ old: Headers, _ new: Headers) -> [String] {
      changes(
        Answer(status: 200, headers: old, body: []), Answer(status: 200, headers: new, body: [])
      ).lines
    }
    #expect(lines(["ETag": "\"a\""], [:]) == ["header `ETag`: gone"])
    #expect(lines([:], ["X-Total-Count": "3"]) == ["header `X-Total-Count`: new"])
    #expect(lines(["ETag": "\"a\""], ["etag": "\"b\""]) == [])
    #expect(lines(["Date": "x", "X-Request-Id": "1", "CF-Ray": "2"], ["Server": "y", "Via": "z"]) == [])
    #expect(lines(["Link": "<x>; rel=next"], [:]) == [])
    #expect(lines(["Set-Cookie": "a=1; Path=/"], ["Set-Cookie": "a=2"]) == [])
    #expect(lines(["Set-Cookie": "a=1"], ["Set-Cookie": "b=1"]) == ["cookie `a`: gone", "cookie `b`: new"])
    #expect(lines(["Allow": "GET, HEAD"], ["Allow": "get"]) == ["header `Allow` `head`: gone"])
  }

  @Test("shows no cookie values")
  func secret() {
    let changes = changes(
      Answer(status: 200, headers: ["Set-Cookie": "a=hunter2"], body: []),
      Answer(status: 200, headers: ["Set-Cookie": "a=hunter3"], body: []))
    #expect(changes.valueCount == 1)
    #expect(!changes.valueLines.joined().contains("hunter"))
  }

  @Test("does not compare bodies of HEAD, or incomplete ones")
  func bodiless() {
    #expect(changes(.json("{}"), .json(#"{"a":1}"#), method: "HEAD").isEmpty)
    var live = Answer.json(#"{"a":1}"#)
    live.isWhole = false
    #expect(changes(.json("{}"), live).isEmpty)
  }

  @Test("compares other formats by their rough structure")
  func formats() {
    let xml = changes(
      .of("application/xml", #"<?xml version="1.0"?><f><e id="1"><t>a</t></e><e id="2"><t>b</t></e></f>"#),
      .of("application/xml", "<f><e><t>a</t><!-- <x> --><u/></e></f>"))
    #expect(xml.lines == ["body /f/e/@id: gone, was a string", "body /f/e/u: new, an array"])
    let page = changes(
      .of("text/html", "<html><body><form><input name=email><br></form>"),
      .of("text/html", "<html><body><form><input name=mail><p>x</form><script>if (a<b) {}</script>"))
    #expect(
      page.lines == [
        "body element <br>: gone", "body element <input name=email>: gone", "body element <input name=mail>: new",
        "body element <p>: new", "body element <script>: new",
      ])
    let lines = changes(
      .of("application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n"), .of("application/x-ndjson", "{\"b\":1}\n"))
    #expect(lines.lines == ["body $[].a: gone, was a number", "body $[].b: new, a number"])
    let form = changes(
      .of("application/x-www-form-urlencoded", "a=1&b=2"), .of("application/x-www-form-urlencoded", "a=3"))
    #expect(form.lines == ["form item `b`: gone, was a string"])
    #expect(form.valueLines == [#"form item `a`: was "1", is "3""#])
    #expect(changes(.of("image/png", "\u{1}"), .of("image/png", "\u{2}")).lines == [])
    #expect(changes(.of("text/plain", "a"), .of("text/plain", "")).lines == ["body: was other content, is empty"])
    #expect(changes(.json("{}"), .json("<p>")).lines == ["body: was JSON, is other content"])
  }

  @Test("compares malformed XML as plain content", arguments: ["", "<a>", "<a></b>", "< a>", "<a", "a"])
  func noXML(_ text: String) {
    #expect(Markup.tree(Array(text.utf8)) == nil)
  }
}
