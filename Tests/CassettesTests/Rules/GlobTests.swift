import Testing

@testable import Cassettes

@Suite("Wildcards")
struct GlobTests {
  @Test(
    "in a path stay within a segment, or do not",
    arguments: [
      ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false), ("/a/*", "/a/", true), ("/a/**", "/a/b/c", true),
      ("/a/**", "/a", false), ("/**/c", "/a/b/c", true), ("/**/c", "/a/b/cd", false), ("*", "/a", false),
      ("**", "/a/b", true), ("/a*c/*", "/abbc/x", true), ("/a*c/*", "/ab/c/x", false), ("/a", "/a", true),
      ("/a", "/A", false), ("/**/b/*", "/b/b/b/x", true), ("/**/x*y", "/x/a/xby", true), ("/*/*", "/a", false),
      ("/***", "/a/b", true), ("", "", true),
    ])
  func paths(glob: String, path: String, fits: Bool) {
    #expect(Glob(path: glob).matches(Array(path.utf8)) == fits)
  }

  @Test("in a name stand for anything; names of headers have no case")
  func names() {
    #expect(Glob(name: "utm_*").matches(Array("utm_a/b".utf8)))
    #expect(!Glob(name: "utm_*").matches(Array("UTM_a".utf8)))
    #expect(Glob(name: "X-*", ignoringCase: true).matches(Array("x-trace".utf8)))
  }

  @Test("end with many stars, too")
  func hostile() {
    let glob = Glob(path: String(repeating: "*a**a", count: 300) + "b")
    #expect(!glob.matches(Array(String(repeating: "a", count: 4000).utf8)))
  }
}
