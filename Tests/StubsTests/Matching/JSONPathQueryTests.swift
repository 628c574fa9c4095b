import Basics
import Stubs
import Testing

@Suite("JSON path queries")
struct JSONPathQueryTests {
  private static let shop = """
    {"store": {"book": [
      {"category": "reference", "author": "Rees", "title": "Sayings", "price": 8.95, "tags": ["a", "b"]},
      {"category": "fiction", "author": "Waugh", "title": "Sword", "price": 12.99, "tags": []},
      {"category": "fiction", "author": "Melville", "title": "Moby Dick", "isbn": "0-553", "price": "8.99", "sub": {"x": 1}}],
      "bicycle": {"color": "red", "price": 19.95}},
      "expensive": 10, "none": null, "empty": [], "object": {}, "no": false, "numbers": [3, 1, 2], "a b": 1, "@type": "t"}
    """

  private static func result(_ path: String, in json: String = shop) throws -> String? {
    let value = try JSONPathQuery(path).value(in: try JSON.parse(Array(json.utf8)))
    return value.map { String(decoding: $0.encoded(), as: UTF8.self) }
  }

  @Test(
    "finds what Jayway finds",
    arguments: [
      ("$.store.book[0].title", #""Sayings""#), ("store.book[-1].title", #""Moby Dick""#), ("@.expensive", "10"),
      ("$.['a b']", "1"), ("$.@type", #""t""#), ("$['store']['bicycle'].color", #""red""#), ("$.none", "null"),
      ("$.store.book[?(@.isbn)].title", #"["Moby Dick"]"#), ("$.store.book[?(!@.isbn)].price", "[8.95,12.99]"),
      ("$.store.book[?(@.price < $.expensive)].title", #"["Sayings"]"#),
      ("$.store.book[?(@.price == '8.95')].title", #"["Sayings"]"#),
      ("$.store.book[?(@.price === '8.95')].title", "[]"),
      ("$.store.book[?(@.price == 8.99)].title", #"["Moby Dick"]"#),
      ("$.store.book[?(@['isbn'] != null)].title", #"["Sayings","Sword","Moby Dick"]"#),
      ("$.store.book[?(@.isbn == null)]", "[]"), ("$.store.book[?(@.missing == @.gone)]", "[]"),
      ("$.store.book[?(@.author =~ /.*VILLE/i)].title", #"["Moby Dick"]"#),
      ("$.store.book[?(@.author =~ /vill/)]", "[]"),
      ("$.store.book[?(@.author in ['Rees', \"Waugh\"])].title", #"["Sayings","Sword"]"#),
      ("$.store.book[?(@.author in [Rees, x])].title", #"["Sayings"]"#),
      ("$.store.book[?(@.author nin ['Rees'])].title", #"["Sword","Moby Dick"]"#),
      ("$.store.book[?(@.tags subsetof ['a','b','c'])].title", #"["Sayings","Sword"]"#),
      ("$.store.book[?(@.tags anyof ['b'])].title", #"["Sayings"]"#),
      ("$.store.book[?(@.tags noneof ['b'])].title", #"["Sword"]"#),
      ("$.store.book[?(@.tags size 2)].title", #"["Sayings"]"#),
      ("$.store.book[?(@.tags empty true)].title", #"["Sword"]"#),
      ("$.store.book[?(@.title contains 'Dick')].author", #"["Melville"]"#),
      ("$.store.book[?(@.tags contains 'a')].author", #"["Rees"]"#),
      ("$.store.book[?(@.price > 10 || @.category == 'reference')].author", #"["Rees","Waugh"]"#),
      ("$.store.book[?((@.category == 'fiction') && !(@.isbn))].author", #"["Waugh"]"#),
      ("$.store.book[?(@.title.length() == 5)]", "[]"), ("$.store.book[?(@.tags.length() > 1)].author", #"["Rees"]"#),
      ("$.store.bicycle[?(@.color == 'red')].price", "[19.95]"), ("$..[?(@.x)]", #"[{"x":1}]"#),
      ("$.store.book[0]['title','author']", #"{"title":"Sayings","author":"Rees"}"#),
      ("$.numbers.length()", "3"), ("$.numbers.size()", "3"), ("$.numbers.min()", "1.0"), ("$.numbers.max()", "3.0"),
      ("$.numbers.sum()", "6.0"), ("$.numbers.avg()", "2.0"), ("$.numbers.first()", "3"), ("$.numbers.last()", "2"),
      ("$.numbers.index(1)", "1"), ("$.store.bicycle.keys()", #"["color","price"]"#), ("$..price.sum()", "41.89"),
      ("$.concat($.expensive, \"x\")", #""10x""#), ("$.numbers.stddev()", "0.8164965809277263"),
      ("$.sum($.expensive, 5)", "15.0"), ("$.length($.numbers)", "3"), ("$.numbers.append(4)", "[3,1,2,4]"),
    ] as [(String, String)])
  func jayway(path: String, expected: String) throws {
    #expect(try Self.result(path) == expected)
  }

  @Test(
    "finds what RFC 9535 adds to Jayway's language",
    arguments: [
      ("$.numbers[::-1]", "[2,1,3]"), ("$.numbers[0:-1]", "[3,1]"), ("$.store.book[?@.isbn].title", #"["Moby Dick"]"#),
      ("$.store[?@.color == 'red'].price", "[19.95]"), ("$.store.book[?length(@.tags) == 2].author", #"["Rees"]"#),
      ("$.store.book[?match(@.author, 'W.*')].title", #"["Sword"]"#), ("$.numbers[0, 2]", "[3,2]"),
      ("$.store.book[?count(@.tags[*]) > 1].author", #"["Rees"]"#),
    ] as [(String, String)])
  func standard(path: String, expected: String) throws {
    #expect(try Self.result(path) == expected)
  }

  @Test("tells a definite path from an indefinite one")
  func definite() throws {
    for path in ["$", "$.a", "a.b[0]", "$['a','b']", "$.a.length()", "$..a.sum()"] {
      #expect(try JSONPathQuery(path).isDefinite)
    }
    for path in ["$..a", "$.*", "$[0,1]", "$[0:1]", "$[?(@.a)]", "$['a','b'].c", "$.a[*].length()"] {
      #expect(try !JSONPathQuery(path).isDefinite)
    }
  }

  @Test(
    "gives nothing if the definite beginning of a path leads nowhere",
    arguments: ["$.missing", "$.missing[*]", "$.expensive.x", "$.numbers[7]", "$.numbers.x[*]", "$.expensive.sum()"])
  func missing(path: String) throws {
    #expect(try Self.result(path) == nil)
    #expect(try JSONPathQuery(path).nodes(in: try JSON.parse(Array(Self.shop.utf8))).isEmpty)
  }

  @Test("does not match if the result is null or empty, as in WireMock")
  func matching() throws {
    let shop = try JSON.parse(Array(Self.shop.utf8))
    for path in ["$", "$.expensive", "$.no", "$..price", "$.store.book[?(@.isbn)]"] {
      #expect(try JSONPathQuery(path).matches(shop))
    }
    for path in ["$.none", "$.empty", "$.object", "$.missing", "$..missing", "$.store.book[?(@.price > 100)]"] {
      #expect(try !JSONPathQuery(path).matches(shop))
    }
  }

  @Test(
    "explains what is wrong with a path, and where",
    arguments: [
      ("", "it must begin with $, at character 1"), ("$.", "it ends with a dot, at character 3"),
      ("$.a[", "a bracket must contain"),
      ("$.a b", "'b' found where a dot, a bracket or the end is expected, at character 5"),
      ("$[?(@.a == )]", "is expected, at character 12"),
      ("$[?(@.a ~~ 1)]", "there is no operator '~~'"), ("$[?(@.a like 1)]", "there is no operator 'like'"),
      ("$.a.median()", "there is no function 'median()'"), ("$[?(foo(@.a) > 1)]", "there is no function 'foo'"),
      ("$[?(@.a =~ /(/)]", "is not a valid regular expression"),
      ("$[?(@.a =~ /a)]", "closing / is missing, at character 12"),
      ("$['a", "a closing quote is missing, at character 3"), ("$[?(1)]", "must be compared"),
      ("$[?(length(@.a, 1) == 1)]", "takes one argument"), ("$[?(match(@.a, 'x') == true)]", "cannot be compared"),
      ("$[01]", "without leading zeros"), (String(repeating: "$[?(", count: 40), "nested more than 32 deep"),
      ("$" + String(repeating: "[?(@", count: 40), "nested more than 32 deep"),
    ] as [(String, String)])
  func errors(path: String, expected: String) {
    let error = #expect(throws: CodedError.self) { try JSONPathQuery(path) }
    #expect(error?.problem.contains(expected) == true, "\(error?.problem ?? "")")
    #expect(error?.problem.hasSuffix("example: $.orders[?(@.id == 7)]") == true)
  }

  @Test("ends a query that explodes with one error")
  func explosion() throws {
    let deep = String(repeating: "[", count: 300) + "1" + String(repeating: "]", count: 300)
    let query = try JSONPathQuery("$..[*]..[*]..[*]..[*]")
    let error = #expect(throws: CodedError.self) { try query.nodes(in: try JSON.parse(Array(deep.utf8))) }
    #expect(error?.problem.contains("takes more than") == true)
    let slow = try JSONPathQuery("$[?(@ =~ /(a+)+[bc]d?/)]")
    let text = "[\"\(String(repeating: "a", count: 40))\"]"
    #expect(throws: CodedError.self) { try slow.nodes(in: try JSON.parse(Array(text.utf8))) }
  }

  @Test("reads nested queries on a small stack")
  func depth() async throws {
    try await onSmallStack {
      let deep = try JSON.parse(Array(String.nested(400, "[", "1", "]").utf8))
      _ = try JSONPathQuery("$" + .nested(15, "[?(@", "", ")]")).nodes(in: deep)
      _ = try JSONPathQuery("$[?(" + .nested(28, "!(", "@.a", ")") + ")]").nodes(in: deep)
    }
  }

  @Test("survives 20,000 damaged paths")
  func mutations() throws {
    let paths = [
      "$.store.book[?(@.price < 10 && @.category == 'fiction')].title", "$..book[0,1]['a','b'][::-2]",
      #"$[?(@.a =~ /x.*y/i || !(@['b'] in ['x', 1, null, {"k": [true]}]))].length()"#, "$.sum($.a, $..b.max())[*]",
      #"$[?match(@.a, '\u00e9[a-z]{2}') == false || count(@..*) >= -1.5e3]"#, "a.b-c[?(@.size() size 3)]",
    ]
    let document = try JSON.parse(Array(Self.shop.utf8))
    var mutations = Mutations()
    var valid = 0
    for _ in 0..<20_000 {
      let path = mutations.next(of: paths)
      guard let query = try? JSONPathQuery(path) else { continue }
      valid += 1
      _ = try? query.nodes(in: document)
      _ = try? JSONPathQuery(path, dialect: .rfc9535).nodes(in: document)
    }
    #expect(valid > 500)
  }
}
