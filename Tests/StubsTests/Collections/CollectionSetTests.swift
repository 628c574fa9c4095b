import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("Sets of collections")
struct CollectionSetTests {
  private func send(_ set: inout CollectionSet, _ method: String, _ target: String, _ body: String = "") throws
    -> CollectionAnswer?
  {
    try set.respond(to: request(method, target, [:], body)) { "new" }
  }

  @Test("are read from json-server's files, and from objects that say more")
  func read() throws {
    var set = try CollectionSet(
      json(
        """
        {"$schema": "./schema.json", "patients": [{"id": 1}], "profile": {"name": "Dr Grey", "id": 5},
         "visits": {"path": "/v1/patients/{patient}/visits/{id}", "id": "code", "items": [{"code": "a", "patient": 1}],
                    "schema": {"required": ["date"], "properties": {"date": {"type": "string"}}}, "envelope": "data"},
         "cart": {"path": "/cart", "item": {"items": []}}}
        """.replacing(#""patient": 1}"#, with: #""patient": 1, "date": "2024"}"#)))
    #expect(set.collections.map(\.name) == ["patients", "profile", "visits", "cart"])
    #expect(try send(&set, "GET", "/patients/1")?.text == #"{"id":1}"#)
    #expect(try send(&set, "GET", "/profile")?.text == #"{"name":"Dr Grey","id":5}"#)
    #expect(
      try send(&set, "GET", "/v1/patients/1/visits")?.text
        == #"{"data":[{"code":"a","patient":1,"date":"2024"}],"total":1}"#)
    #expect(try send(&set, "POST", "/v1/patients/1/visits", "{}")?.status == 422)
    #expect(try send(&set, "GET", "/cart")?.text == #"{"items":[]}"#)
    #expect(try send(&set, "GET", "/visits") == nil)
    #expect(set.mayAnswer(path: "/cart"))
    #expect(!set.mayAnswer(path: "/carts"))
  }

  @Test(
    "are refused with the place of the mistake and what to do",
    arguments: [
      ("[]", "expected an object, found []"),
      (#"{"a": 7}"#, "a: expected a list of items or an object, found 7"),
      (#"{"a": [7]}"#, "a[0]: expected an object, found 7"),
      (#"{"a": [{"id": 1}, {"name": "x"}]}"#, "a[1].id: missing; give each item an id"),
      (#"{"a": [{"id": 1}, {"id": "1"}]}"#, "a[1].id: '1' occurs twice; give each item its own id"),
      (#"{"a": [{"id": true}]}"#, "a[0].id: expected a text or an integer, found true"),
      (#"{"a": [{"id": 1, "x": {"y": 1, "y": 2}}]}"#, "a[0]: the member 'y' occurs twice in an object"),
      (#"{"a": [], "a": []}"#, "a: occurs twice; keep one of them"),
      (#"{"a b": []}"#, #"a b: the name cannot be a path; give one: {"path": "/…/{id}", "items": […]}"#),
      (#"{"a": {"path": "/a/{id}", "itmes": []}}"#, "a.itmes: unknown member; did you mean 'items'?"),
      (#"{"a": {"path": "/a/{id}", "items": {}}}"#, "a.items: expected an array, found {}"),
      (#"{"a": {"path": "/a"}}"#, "a.path: '/a' does not end with the id in braces, such as /patients/{id}"),
      (
        #"{"a": {"path": "/a/{id"}}"#,
        "a.path: '{id' in the path template is neither a text nor one name in braces, like {id}"
      ),
      (#"{"a": {"path": "/{x}/{x}"}}"#, "a.path: '/{x}/{x}' has the same name twice"),
      (#"{"a": {"path": "/{id}/a/{a}"}}"#, "a.id: 'id' cannot be the id; name another member"),
      (#"{"a": {"path": "/a/{id}", "items": [{"id": 1}, {}]}}"#, "a.items[1].id: missing; give each item an id"),
      (
        #"{"a": {"path": "/a/{id}", "items": [{"id": 1}], "schema": {"properties": {"id": {"type": "string"}}}}}"#,
        "a.items[0].id: expected string, found 1"
      ),
      (
        #"{"a": {"path": "/a/{id}", "schema": {"type": "text"}}}"#,
        "a.schema: 'text' is not a type of JSON Schema; use array, boolean, integer, null, number, object, string"
      ),
      (
        #"{"a": {"path": "/a/{id}", "envelope": "total"}}"#,
        "a.envelope: 'total' cannot wrap the list; use another name, such as data"
      ),
      (
        #"{"a": {"path": "/a", "item": {}, "items": []}}"#,
        "a.items: 'item' is also given; a single resource has no 'items'"
      ),
      (
        #"{"a": {"path": "/a/{id}", "item": {}}}"#,
        "a.path: the path of a single resource has no names in braces; use items for a list"
      ),
      (
        #"{"a": {"items": []}}"#,
        #"a.path: missing; add "/a/{id}" for a list, or write a resource with such members as {"path": "/a", "item": {…}}"#
      ),
      (#"{"a": [], "b": {"path": "/a/{key}"}}"#, "b.path: 'a' has the path '/a/{id}', too; use another one"),
    ])
  func refused(text: String, problem: String) {
    #expect(#expect(throws: CodedError.self) { try CollectionSet(json(text)) }?.message == problem)
  }

  @Test("answer with the collection whose path fits best")
  func overlap() throws {
    var set = try CollectionSet(
      json(
        #"{"a": [{"id": "x"}], "b": {"path": "/a/active/{id}", "items": [{"id": "y"}]}, "active": {"path": "/a/y", "item": {}}}"#
      ))
    #expect(try send(&set, "GET", "/a/active")?.text == #"[{"id":"y"}]"#)
    #expect(try send(&set, "GET", "/a/x")?.text == #"{"id":"x"}"#)
    #expect(try send(&set, "GET", "/a/y")?.text == "{}")
  }

  @Test("count and list the changes by requests and by tests")
  func changes() throws {
    var set = try CollectionSet(json(#"{"a": [{"id": 1}], "b": []}"#))
    #expect(set.changeCount == 0)
    _ = try send(&set, "GET", "/a")
    _ = try send(&set, "POST", "/a", "[]")
    _ = try send(&set, "POST", "/a", #"{"x":1}"#)
    _ = try send(&set, "PATCH", "/a/2", #"{"x":2}"#)
    let count = set.changeCount
    #expect(count == 2)
    _ = try send(&set, "DELETE", "/a/1")
    try set.put(json("{}"), in: "b") { "k" }
    #expect(try set.remove("k", from: "b")?.kind == .removed)
    #expect(try set.remove("k", from: "b") == nil)
    #expect(set.changeCount == 5)
    #expect(
      set.changes().map { "\($0.kind) \($0.collection)/\($0.id) \($0.item.text)" } == [
        #"created a/2 {"id":2,"x":1}"#, #"patched a/2 {"id":2,"x":2}"#, #"removed a/1 {"id":1}"#,
        #"created b/k {"id":"k"}"#,
        #"removed b/k {"id":"k"}"#,
      ])
    #expect(set.changes(after: count).map(\.kind) == [.removed, .created, .removed])
    #expect(set.changes(after: count, in: "b").count == 2)
    #expect(set.changes(after: 99).isEmpty)
    #expect(set["a"]?.items.map(\.text) == [#"{"id":2,"x":2}"#])
  }

  @Test("keep the newest changes")
  func manyChanges() throws {
    var set = try CollectionSet(json(#"{"a": [{"id": 1}]}"#))
    for number in 0..<25_000 { try set.put(json(#"{"id":1,"n":\#(number)}"#), in: "a") { "" } }
    #expect(set.changeCount == 25_000)
    #expect(set.changes().count == CollectionSet.keptChanges)
    #expect(set.changes(after: 24_999).map { $0.item["n"] } == [.int(24_999)])
  }

  @Test("name the nearest collection if there is none of a name")
  func unknown() throws {
    var set = try CollectionSet(json(#"{"patients": []}"#))
    let error = #expect(throws: CodedError.self) { try set.put(json("{}"), in: "patient") { "" } }
    #expect(error?.message == "there is no collection 'patient'; did you mean 'patients'?")
    let removals = [set.remove("patients"), set.remove("patients")]
    #expect(removals == [true, false])
  }

  @Test("give the same answers to the same requests")
  func repeats() throws {
    func run() throws -> [String] {
      var set = try CollectionSet(json(#"{"a": [], "b": [{"id": 3}]}"#))
      var ids = 0
      return try [("POST", "/a"), ("POST", "/b"), ("PUT", "/b/3"), ("GET", "/a?_page=1"), ("GET", "/b/4")].map {
        method, target in
        let answer = try set.respond(to: request(method, target, [:], #"{"name":"x"}"#)) {
          ids += 1
          return "id-\(ids)"
        }
        return "\(answer?.status ?? 0) \(answer?.headers.fields ?? []) \(answer?.text ?? "")"
      }
    }
    #expect(try run() == run())
  }
}
