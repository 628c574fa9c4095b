import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("Collections")
struct StubCollectionTests {
  @Test("list their items, and give one by its id")
  func read() throws {
    var client = try Client()
    let list = try client.send("GET")
    #expect(list.text == #"[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]"#)
    #expect(list.headers["X-Total-Count"] == "2")
    #expect(list.headers["Content-Type"] == "application/json")
    let item = try client.send("GET", "/people/2")
    #expect(item.status == 200)
    #expect(item.text == #"{"id":2,"name":"Bob"}"#)
    #expect(item.change == nil)
  }

  @Test("answer nothing at other paths")
  func foreignPaths() throws {
    var collection = try Client().collection
    for path in ["/", "/people/", "/people/1/pets", "/persons", "/people/1/"] {
      #expect(try collection.respond(to: request("GET", path)) { "" } == nil)
    }
  }

  @Test("answer 404 with a problem document if there is no such item", arguments: ["GET", "PATCH", "DELETE"])
  func missing(method: String) throws {
    var client = try Client()
    let answer = try client.send(method, "/people/9", "{}")
    #expect(answer.status == 404)
    #expect(answer.headers["Content-Type"] == "application/problem+json")
    let problem = try json(answer.text)
    #expect(problem["type"] == .string("about:blank"))
    #expect(problem["title"] == .string("Not Found"))
    #expect(problem["status"] == .int(404))
    #expect(answer.detail == "no item of 'people' has the id '9' here; GET the list for those that exist")
  }

  @Test("create an item with the next integer as id, which is not used again")
  func createInteger() throws {
    var client = try Client()
    let answer = try client.send("POST", "/people", #"{"name":"Cleo"}"#, type: "application/json; charset=utf-8")
    #expect(answer.status == 201)
    #expect(answer.headers["Location"] == "/people/3")
    #expect(answer.text == #"{"id":3,"name":"Cleo"}"#)
    #expect(answer.change?.kind == .created)
    #expect(answer.change?.id == "3")
    _ = try client.send("DELETE", "/people/3")
    #expect(try client.send("POST", "/people", #"{"id":null}"#).headers["Location"] == "/people/4")
    #expect(client.ids == 0)
  }

  @Test(
    "create an item with a text from outside as id, if ids are texts or there is no item",
    arguments: ["[]", #"[{"id":"a"}]"#])
  func createText(items: String) throws {
    var client = try Client(items)
    #expect(try client.send("POST", "/people", "{}").text == #"{"id":"new-1"}"#)
    #expect(try client.send("POST", "/people", "{}").headers["Location"] == "/people/new-2")
  }

  @Test("create an item with the client's id, which may need escapes in the URL")
  func createGiven() throws {
    var client = try Client()
    let answer = try client.send("POST", "/people", #"{"name":"Cleo","id":"a/b é"}"#)
    #expect(answer.status == 201)
    #expect(answer.headers["Location"] == "/people/a%2Fb%20%C3%A9")
    #expect(try client.send("GET", "/people/a%2Fb%20%C3%A9").text == #"{"name":"Cleo","id":"a/b é"}"#)
  }

  @Test("answer 409 if the id of a new item exists, as text or number", arguments: ["2", #""2""#])
  func conflict(id: String) throws {
    var client = try Client()
    let answer = try client.send("POST", "/people", #"{"id":\#(id)}"#)
    #expect(answer.status == 409)
    #expect(answer.detail?.contains("leave out the id to get a new one") == true)
  }

  @Test("try again if a new id exists, and give up in the end")
  func usedIDs() throws {
    var collection = try Client(#"[{"id":"a"}]"#).collection
    var ids = ["b", "a"]
    #expect(try collection.respond(to: request("POST", "/people", [:], "{}")) { ids.removeLast() }?.change?.id == "b")
    #expect(throws: CodedError.self) { try collection.respond(to: request("POST", "/people", [:], "{}")) { "a" } }
    #expect(throws: CodedError(.usage, "none left")) {
      try collection.respond(to: request("POST", "/people", [:], "{}")) { () throws(CodedError) in
        throw CodedError(.usage, "none left")
      }
    }
  }

  @Test("replace an item, which keeps its id and position")
  func replace() throws {
    var client = try Client()
    let answer = try client.send("PUT", "/people/1", #"{"name":"Eve"}"#)
    #expect(answer.status == 200)
    #expect(answer.text == #"{"id":1,"name":"Eve"}"#)
    #expect(answer.change?.kind == .replaced)
    #expect(try client.send("PUT", "/people/1", #"{"name":"Eva","id":1}"#).text == #"{"name":"Eva","id":1}"#)
    #expect(try client.send("GET").text == #"[{"name":"Eva","id":1},{"id":2,"name":"Bob"}]"#)
    let other = try client.send("PUT", "/people/1", #"{"id":2}"#)
    #expect(other.status == 422)
    #expect(other.errors == ["/id the id of an item cannot change; use '1'"])
  }

  @Test(
    "create the item of a PUT with the id of its path",
    arguments: [("7", #"{"id":7}"#), ("007", #"{"id":"007"}"#), ("x%20y", #"{"id":"x y"}"#)])
  func put(id: String, item: String) throws {
    var client = try Client()
    let answer = try client.send("PUT", "/people/\(id)", "{}")
    #expect(answer.status == 201)
    #expect(answer.text == item)
    #expect(answer.change?.kind == .created)
  }

  @Test(
    "merge a patch", arguments: [nil, "application/json", "application/merge-patch+json; charset=utf-8"])
  func merge(type: String?) throws {
    var client = try Client(#"[{"id":1,"name":"Ann","age":30}]"#)
    let answer = try client.send("PATCH", "/people/1", #"{"age":null,"city":"Rome"}"#, type: type)
    #expect(answer.status == 200)
    #expect(answer.text == #"{"id":1,"name":"Ann","city":"Rome"}"#)
    #expect(answer.change?.kind == .patched)
    #expect(answer.change?.old?.text == #"{"id":1,"name":"Ann","age":30}"#)
  }

  @Test("apply a JSON Patch")
  func patch() throws {
    var client = try Client()
    let patch = #"[{"op":"test","path":"/name","value":"Ann"},{"op":"move","from":"/name","path":"/first"}]"#
    let answer = try client.send("PATCH", "/people/1", patch, type: "application/json-patch+json")
    #expect(answer.status == 200)
    #expect(answer.text == #"{"id":1,"first":"Ann"}"#)
  }

  @Test(
    "refuse patches that are not valid, do not fit, or change the id",
    arguments: [
      ("application/json-patch+json", "{}", 400),
      ("application/json-patch+json", #"[{"op":"remove","path":"/x"}]"#, 409),
      ("application/json-patch+json", #"[{"op":"replace","path":"","value":1}]"#, 422),
      ("application/json-patch+json", #"[{"op":"remove","path":"/id"}]"#, 422), ("application/json", "[]", 400),
      ("application/merge-patch+json", #"{"id":5}"#, 422), ("application/merge-patch+json", #"{"id":null}"#, 422),
      ("text/plain", "{}", 415), ("application/vnd.api+json", "{}", 415),
    ])
  func badPatch(type: String, patch: String, status: Int) throws {
    var client = try Client()
    let answer = try client.send("PATCH", "/people/1", patch, type: type)
    #expect(answer.status == status, "\(answer.text)")
    #expect(status != 415 || answer.headers["Accept-Patch"]?.contains("application/json-patch+json") == true)
    #expect(client.collection["1"]?.text == #"{"id":1,"name":"Ann"}"#)
  }

  @Test("delete an item once")
  func delete() throws {
    var client = try Client()
    let answer = try client.send("DELETE", "/people/1")
    #expect(answer.status == 204)
    #expect(answer.body == [])
    #expect(answer.change?.kind == .removed)
    #expect(answer.change?.item.text == #"{"id":1,"name":"Ann"}"#)
    #expect(try client.send("DELETE", "/people/1").status == 404)
    #expect(client.collection.items.count == 1)
  }

  @Test("answer HEAD as GET, without the body")
  func head() throws {
    var client = try Client()
    let answer = try client.send("HEAD", "/people/1")
    #expect(answer.status == 200)
    #expect(answer.body == [])
    #expect(answer.headers["Content-Length"] == "21")
    #expect(answer.headers["ETag"] != nil)
    #expect(try client.send("HEAD", "/people/9").status == 404)
  }

  @Test("answer OPTIONS and wrong methods with what is allowed")
  func methods() throws {
    var client = try Client()
    let options = try client.send("OPTIONS", "/people/1")
    #expect(options.status == 204)
    #expect(options.headers["Allow"] == "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
    #expect(options.headers["Accept-Patch"]?.contains("application/merge-patch+json") == true)
    #expect(try client.send("OPTIONS").headers["Allow"] == "GET, HEAD, POST, OPTIONS")
    let wrong = try client.send("DELETE")
    #expect(wrong.status == 405)
    #expect(wrong.headers["Allow"] == "GET, HEAD, POST, OPTIONS")
    #expect(wrong.detail == "DELETE is not allowed for the list of 'people'; use GET, HEAD, POST, OPTIONS")
    #expect(try client.send("POST", "/people/1", "{}").status == 405)
  }

  @Test(
    "refuse bodies that are not items",
    arguments: [
      ("", nil, 400, "the body is empty; send JSON"),
      (
        "{", nil, 400,
        "the body is not valid JSON: line 1, column 2: expected a member's name in quotes, found the end of the text"
      ),
      ("[]", nil, 400, "the body is not a JSON object; send one item at a time"),
      (#"{"a":{"b":1,"b":2}}"#, nil, 400, "the body cannot be used: the member 'b' occurs twice in an object"),
      (
        "a=b", "application/x-www-form-urlencoded", 415,
        "the body has the type 'application/x-www-form-urlencoded'; send application/json"
      ),
    ] as [(String, String?, Int, String)])
  func badBody(body: String, type: String?, status: Int, detail: String) throws {
    var client = try Client()
    let answer = try client.send("POST", "/people", body, type: type)
    #expect(answer.status == status)
    #expect(answer.detail == detail)
    #expect(try client.send("PUT", "/people/1", body, type: type).status == status)
    #expect(client.collection.count == 2)
  }

  @Test(
    "accept other JSON types, and refuse an id that is neither text nor integer",
    arguments: ["true", "1.5", "{}", #""""#])
  func ids(id: String) throws {
    var client = try Client()
    #expect(try client.send("POST", "/people", "{}", type: "application/vnd.api+json").status == 201)
    let answer = try client.send("POST", "/people", #"{"id":\#(id)}"#)
    #expect(answer.status == 422)
    #expect(answer.errors.first?.hasPrefix("/id expected a text or an integer, found ") == true, "\(answer.text)")
  }

  @Test("validate items by a schema, and list what is wrong")
  func schema() throws {
    let schema = """
      {"required": ["name", "age"], "properties": {"name": {"type": "string"}, "age": {"minimum": 0},
       "lines": {"items": {"required": ["sku"]}}}}
      """
    var client = try Client(#"[{"id":1,"name":"Ann","age":3}]"#, schema: schema)
    #expect(try client.send("POST", "/people", #"{"name":"Bob","age":4}"#).status == 201)
    let answer = try client.send("POST", "/people", #"{"name":7,"lines":[{}]}"#)
    #expect(answer.status == 422)
    #expect(answer.detail == "the item is not valid; 'errors' lists what to change")
    #expect(answer.errors == [" missing: age", "/name expected string, found 7", "/lines/0 missing: sku"])
    #expect(try client.send("PUT", "/people/1", #"{"name":"Ann"}"#).errors == [" missing: age"])
    #expect(try client.send("PATCH", "/people/1", #"{"age":-1}"#).errors == ["/age does not fulfil 'minimum': 0"])
    #expect(client.collection["1"]?["age"] == .int(3))
  }

  @Test("take the outer names of a nested path as members")
  func nested() throws {
    let items = try json(#"[{"code":1,"patient":7},{"code":2,"patient":8}]"#).array ?? []
    var client = Client(
      try StubCollection(
        name: "appointments", path: "/patients/{patient}/appointments/{id}", id: "code", items: items))
    #expect(try client.send("GET", "/patients/7/appointments").text == #"[{"code":1,"patient":7}]"#)
    #expect(try client.send("GET", "/patients/7.0/appointments/1").status == 200)
    #expect(try client.send("GET", "/patients/8/appointments/1").status == 404)
    let created = try client.send("POST", "/patients/8/appointments", "{}")
    #expect(created.text == #"{"code":3,"patient":8}"#)
    #expect(created.headers["Location"] == "/patients/8/appointments/3")
    #expect(try client.send("POST", "/patients/x/appointments", "{}").text == #"{"code":4,"patient":"x"}"#)
    let moved = try client.send("PATCH", "/patients/7/appointments/1", #"{"patient":8}"#)
    #expect(moved.errors == ["/patient does not have the value of the path; leave it out"])
    #expect(try client.send("PUT", "/patients/8/appointments/1", "{}").status == 409)
    #expect(try client.send("PUT", "/patients/7/appointments/1", "{}").text == #"{"code":1,"patient":7}"#)
    #expect(try client.send("DELETE", "/patients/8/appointments/1").status == 404)
  }

  @Test("wrap lists in an envelope, but not items")
  func envelope() throws {
    var client = Client(
      try StubCollection(
        name: "people", path: "/people/{id}", items: [json(#"{"id":"a"}"#), json(#"{"id":"b"}"#)], envelope: "data"))
    #expect(try client.send("GET", "/people?_limit=1").text == #"{"data":[{"id":"a"}],"total":2}"#)
    #expect(try client.send("GET", "/people/a").text == #"{"id":"a"}"#)
  }

  @Test("of one object can be read, replaced and patched, but not removed")
  func singular() throws {
    var client = Client(try StubCollection(name: "profile", path: "/profile", item: json(#"{"name":"Ann"}"#)))
    #expect(try client.send("GET", "/profile").text == #"{"name":"Ann"}"#)
    #expect(try client.send("PATCH", "/profile", #"{"age":3}"#).text == #"{"name":"Ann","age":3}"#)
    let answer = try client.send("PUT", "/profile", #"{"id":5}"#)
    #expect(answer.status == 200)
    #expect(answer.text == #"{"id":5}"#)
    #expect(answer.change == nil || answer.change?.kind == .replaced)
    #expect(try client.send("DELETE", "/profile").headers["Allow"] == "GET, HEAD, PUT, PATCH, OPTIONS")
    #expect(try client.send("POST", "/profile", "{}").status == 405)
    #expect(client.collection[""]?.text == #"{"id":5}"#)
  }

  @Test("can be read and changed by a test")
  func direct() throws {
    var collection = try Client().collection
    #expect(collection["1"]?["name"] == .string("Ann"))
    #expect(try collection.put(json(#"{"id":1,"name":"Eve"}"#)) { "" }.kind == .replaced)
    #expect(try collection.put(json("{}")) { "" }.id == "3")
    #expect(collection.remove("1")?.kind == .removed)
    #expect(collection.remove("1") == nil)
    #expect(collection.items.map(\.text) == [#"{"id":2,"name":"Bob"}"#, #"{"id":3}"#])
    #expect(throws: CodedError.self) { try collection.put(.int(1)) { "" } }
  }

  @Test("have at most 100,000 items, and find each after others are removed")
  func count() throws {
    let items = (1...StubCollection.maximumCount).map { JSON.object([JSON.Member("id", .int($0))]) }
    var client = Client(try StubCollection(name: "people", path: "/people/{id}", items: items))
    let full = try client.send("POST", "/people", "{}")
    #expect(full.status == 507)
    #expect(full.detail == "the collection 'people' can have at most 100000 items; remove some first")
    for id in stride(from: 1, to: 2_000, by: 2) { #expect(try client.send("DELETE", "/people/\(id)").status == 204) }
    for id in stride(from: 2, to: 2_000, by: 2) { #expect(client.collection["\(id)"]?["id"] == .int(id)) }
    #expect(client.collection["100000"] != nil)
    #expect(try client.send("GET", "/people?_sort=-id&_limit=1").text == #"[{"id":100000}]"#)
    #expect(try client.send("POST", "/people", "{}").headers["Location"] == "/people/100001")
  }

  @Test("have at most 16 MB of JSON, nested at most 64 levels deep")
  func size() throws {
    var client = try Client()
    let large = #"{"text":"\#(String(repeating: "x", count: 9 << 20))"}"#
    #expect(try client.send("POST", "/people", large).status == 201)
    #expect(try client.send("POST", "/people", large).status == 507)
    #expect(try client.send("PUT", "/people/3", large).status == 200)
    let deep = #"{"a":"# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}"
    #expect(try client.send("POST", "/people", deep).detail?.contains("more than 64 levels") == true)
  }
}
