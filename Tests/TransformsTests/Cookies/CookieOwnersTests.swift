@testable import Transforms
import HTTPMessages
import Testing

@Suite("The upstream that owns a cookie")
struct CookieOwnersTests {
  private static func owners(_ hosts: [String] = ["127.0.0.1", "127.0.0.1"]) -> CookieOwners {
    CookieOwners(hosts: hosts)
  }

  private func passed(_ cookie: String, _ owners: CookieOwners, to upstream: Int, target: String = "/") -> String? {
    let result = owners.passed(["Accept": "*/*", "Cookie": cookie], to: upstream, target: target)
    #expect(result["Accept"] == "*/*")
    return result["Cookie"]
  }

  @Test("gets the cookies that it has set, and no other upstream does")
  func apart() {
    var owners = Self.owners()
    owners.learn(["a=1; Path=/", "b=2; HttpOnly"], from: 0)
    owners.learn(["c=3"], from: 1)
    let all = "a=1; theme=dark; b=2; c=3"
    #expect(passed(all, owners, to: 0) == "a=1; theme=dark; b=2")
    #expect(passed(all, owners, to: 1) == "theme=dark; c=3")
    #expect(passed("a=1", owners, to: 1) == nil)
    #expect(passed("theme=dark", owners, to: 1) == "theme=dark")
    #expect(passed("a=1; a=9", owners, to: 0) == "a=1; a=9")
  }

  @Test("gets its own value back if two upstreams have set the cookie, and what the app makes of it")
  func both() {
    var owners = Self.owners()
    owners.learn(["sid=A"], from: 0)
    owners.learn(["sid=B"], from: 1)
    #expect(passed("sid=B", owners, to: 0) == "sid=A")
    #expect(passed("sid=B", owners, to: 1) == "sid=B")
    #expect(passed("x=1; sid=A", owners, to: 1) == "x=1; sid=B")
    #expect(passed("sid=own", owners, to: 0) == "sid=own")
    owners.learn(["sid=A2; Path=/shop"], from: 0)
    #expect(passed("sid=B", owners, to: 0, target: "/shop/tea?x=/") == "sid=A2")
    #expect(passed("sid=B", owners, to: 0, target: "/shopping") == "sid=A")
  }

  @Test("is recognized by each of the cookie's values: for another path, and from before a renewal or removal")
  func former() {
    var owners = Self.owners()
    owners.learn(["t=A-shop; Path=/shop", "t=A-root; Path=/", "u=old", "w=gone"], from: 0)
    owners.learn(["t=B; Path=/"], from: 1)
    #expect(passed("t=A-shop; t=B", owners, to: 1) == "t=B")
    #expect(passed("t=A-shop; t=A-root", owners, to: 1) == "t=B")
    #expect(passed("t=A-shop; t=A-root", owners, to: 0, target: "/shop") == "t=A-shop; t=A-root")
    owners.learn(["u=new", "w=; Max-Age=0"], from: 0)
    owners.learn(["u=mine"], from: 1)
    for theirs in ["u=old", "u=new"] { #expect(passed(theirs, owners, to: 1) == "u=mine") }
    #expect(passed("w=gone", owners, to: 1) == nil)
    #expect(passed("u=old", owners, to: 0) == "u=old")
  }

  @Test("does not keep an app's own value under the same name from another upstream")
  func appsOwn() {
    var owners = Self.owners()
    owners.learn(["lang=de"], from: 0)
    #expect(passed("lang=en", owners, to: 1) == "lang=en")
    #expect(passed("lang=de", owners, to: 1) == nil)
  }

  @Test("is recognized by the value of a cookie without a name")
  func nameless() {
    var owners = Self.owners()
    owners.learn(["flag; Path=/"], from: 0)
    #expect(passed("flag; x=1; other", owners, to: 1) == "x=1; other")
    #expect(passed("flag", owners, to: 0) == "flag")
  }

  @Test("never gets another upstream's cookie instead of one that only the recording has")
  func recordedOnly() {
    var owners = Self.owners()
    owners.learn(recorded: [.init(upstream: 1, fields: ["sid=<redacted>"])])
    owners.learn(["sid=A"], from: 0)
    #expect(passed("sid=A", owners, to: 1) == nil)
    #expect(passed("sid=A", owners, to: 0) == "sid=A")
    #expect(passed("sid=before", owners, to: 1) == "sid=before")
  }

  @Test(
    "no longer owns a cookie that was removed",
    arguments: [
      "a=; Max-Age=0", "a=x; max-age=-1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
      "a=; expires=Thu, 01-Jan-70 00:00:00 GMT",
    ])
  func gone(_ field: String) {
    var owners = Self.owners()
    owners.learn(["a=1"], from: 0)
    owners.learn([field], from: 0)
    #expect(passed("a=2", owners, to: 1) == "a=2")
  }

  @Test("has removed a cookie that expires before its own answer's date")
  func past() {
    var owners = Self.owners()
    let field = "a=2; Expires=Mon, 08 Oct 2018 09:00:00 GMT"
    owners.learn(["a=1"], from: 0)
    owners.learn([field], from: 0, date: "Mon, 08 Oct 2018 08:00:00 GMT")
    #expect(passed("a=2", owners, to: 1) == nil)
    owners.learn([field], from: 0, date: "Mon, 08 Oct 2018 09:00:00 GMT")
    #expect(passed("a=9", owners, to: 1) == "a=9")
  }

  @Test("keeps its cookie in the app when another upstream removes one with the same name")
  func kept() {
    var owners = Self.owners()
    let own = "sid=B; Path=/; HttpOnly"
    owners.learn(["sid=A; Path=/"], from: 0)
    owners.learn(["sid=B; Path=/; Secure; HttpOnly"], shown: [own], from: 1)
    #expect(owners.learn(["x=1", "sid=; Path=/; Max-Age=0"], from: 0) == [1: own])
    // A cookie for another path stays in the jar anyway.
    #expect(owners.learn(["sid=; Path=/shop; Max-Age=0"], from: 0) == [:])
    #expect(owners.learn(["sid=; Max-Age=0"], from: 0, target: "/shop/out?x=/") == [:])
    #expect(owners.learn(["sid=; Max-Age=0"], from: 0, target: "/out") == [0: own])
    // The owner may remove it.
    #expect(owners.learn(["sid=; Path=/; Max-Age=0"], from: 1) == [:])
    #expect(owners.learn(["sid=; Path=/; Max-Age=0"], from: 0) == [:])
  }

  @Test("does not keep a cookie that only the recording has, or that belongs to the other upstream too")
  func notKept() {
    var owners = Self.owners(["api.shop.test", "www.shop.test"])
    owners.learn(recorded: [.init(upstream: 1, fields: ["sid=<redacted>"])])
    owners.learn(["sid=A", "all=1; Domain=shop.test"], from: 0)
    #expect(owners.learn(["sid=; Max-Age=0", "all=; Max-Age=0; Domain=shop.test"], from: 0) == [:])
  }

  @Test(
    "shares a cookie whose domain covers several upstreams, or one host on several ports; not on this machine")
  func domains() {
    let hosts = ["api.shop.test", "www.shop.test", "api.shop.test", "other.test"]
    var owners = Self.owners(hosts)
    owners.learn(["all=1; Domain=.shop.test", "host=2", "wrong=3; Domain=other.test"], from: 0)
    #expect(passed("all=1; host=2; wrong=3", owners, to: 0) == "all=1; host=2; wrong=3")
    #expect(passed("all=1; host=2; wrong=3", owners, to: 1) == "all=1")
    #expect(passed("all=1; host=2; wrong=3", owners, to: 2) == "all=1; host=2; wrong=3")
    #expect(passed("all=1; host=2; wrong=3", owners, to: 3) == nil)
    var local = Self.owners(["localhost", "127.0.0.1"])
    local.learn(["a=1; Domain=localhost"], from: 0)
    #expect(passed("a=1", local, to: 1) == nil)
  }

  @Test("is known from the recording before the cookie is set")
  func recorded() {
    var owners = Self.owners()
    owners.learn(["sid=live"], from: 1)
    owners.learn(recorded: [.init(upstream: 0, fields: ["sid=<redacted>", "a=<redacted>"])])
    #expect(passed("sid=x; a=y", owners, to: 0) == "sid=x; a=y")
    #expect(passed("sid=x; a=y", owners, to: 1) == "sid=x")
  }

  @Test("leaves the fields unchanged if nothing is known, or nothing has to change")
  func untouched() {
    var owners = Self.owners()
    let headers: Headers = ["cookie": "a=1;b=2 ;  c", "Cookie": ""]
    #expect(owners.passed(headers, to: 0, target: "/") == headers)
    owners.learn(["a=1", "=x", "nothing", ""], from: 0)
    #expect(owners.passed(headers, to: 0, target: "/") == headers)
  }
}
