import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("Mutated requests to collections")
struct CollectionMutationTests {
  @Test("never crash, and leave only items that are valid")
  func mutations() throws {
    let patches = [
      #"[{"op":"add","path":"/tags/0","value":"x"},{"op":"test","path":"/age","value":30}]"#,
      #"[{"op":"move","from":"/address/city","path":"/city"},{"op":"copy","from":"/tags","path":"/tags/-"}]"#,
      #"[{"op":"replace","path":"/address","value":{"a~1b":[1,2.5e3]}},{"op":"remove","path":"/tags/1"}]"#,
      #"[{"op":"copy","from":"","path":"/a"},{"op":"add","path":"/a/a","value":null},{"op":"copy","from":"/a","path":"/a/b"}]"#,
      #"{"name":null,"address":{"city":{"x":1}},"tags":["é"],"id":1}"#,
    ]
    let queries = [
      "name=Ann&age_gte=18&_sort=name,-age&_page=1&_limit=2", "q=rom&_start=1&_end=3&_order=desc",
      "address.city_like=R%C3%A9&tags.0=b&age_ne=1e400", "_per_page=1&_page=2&name_lt=%ff&a..b=&_sort=-,,tags.0",
    ]
    let items = #"[{"id":1,"name":"Ann","age":30,"address":{"city":"Rome"},"tags":["a","b"]},{"id":2,"age":1e-3}]"#
    let fresh = try Client(items)
    var client = fresh
    var mutations = Mutations()
    var statuses: [Int: Int] = [:]
    for number in 0..<10_000 {
      if number % 50 == 0 { client = fresh }
      let answer: CollectionAnswer
      switch number % 4 {
      case 0:
        answer = try client.send("GET", "/people?" + mutations.next(of: queries))
      case 1:
        answer = try client.send(
          "PATCH", "/people/1", mutations.next(of: patches), type: "application/merge-patch+json")
      case 2:
        answer = try client.send("PATCH", "/people/1", mutations.next(of: patches), type: "application/json-patch+json")
      default:
        answer = try client.send(
          ["PUT", "POST"][number / 4 % 2], "/people" + (number / 4 % 2 == 0 ? "/1" : ""), mutations.next(of: patches))
      }
      statuses[answer.status, default: 0] += 1
      if answer.status != 204 { #expect(throws: Never.self) { try JSON.parse(answer.body) } }
      #expect(client.collection["1"]?["id"]?.text == "1")
      for field in answer.headers.fields { #expect(field.isSendable) }
    }
    #expect(statuses.keys.allSatisfy { [200, 201, 400, 409, 422].contains($0) }, "\(statuses)")
    #expect(statuses.count > 4, "\(statuses)")
  }
}
