import Basics
import HTTPMessages
import Stubs
import Testing

/// Parses JSON.
func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

/// A collection at `/people/{id}`, and what requests get from it. New ids are `new-1`, `new-2` and so on.
struct Client {
  var collection: StubCollection
  var ids = 0

  init(_ collection: StubCollection) { self.collection = collection }

  init(_ items: String = #"[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]"#, schema: String? = nil) throws {
    collection = try StubCollection(
      name: "people", path: "/people/{id}", items: json(items).array ?? [], schema: schema.map(json))
  }

  mutating func send(
    _ method: String, _ target: String = "/people", _ body: String = "", type: String? = nil, headers: Headers = [:]
  ) throws -> CollectionAnswer {
    var headers = headers
    if let type { headers.append("Content-Type", type) }
    let answer = try collection.respond(to: request(method, target, headers, body)) { () throws(CodedError) in
      ids += 1
      return "new-\(ids)"
    }
    return try #require(answer)
  }

  /// The names of the items in a list.
  mutating func names(_ query: String) throws -> String {
    let list = try send("GET", "/people?\(query)")
    try #require(list.status == 200, "\(list.text)")
    return try (json(list.text).array ?? []).compactMap { $0["name"]?.text }.joined(separator: " ")
  }
}

extension CollectionAnswer {
  var text: String { String(decoding: body, as: UTF8.self) }
  /// The detail of a problem document.
  var detail: String? { (try? JSON.parse(body))?["detail"]?.string }
  var errors: [String] {
    ((try? JSON.parse(body))?["errors"]?.array ?? []).map {
      "\($0["pointer"]?.text ?? "?") \($0["detail"]?.text ?? "?")"
    }
  }
}
