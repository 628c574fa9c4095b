import Basics
import HTTPMessages
import Stubs
import Testing

@Suite("Conditional requests to collections")
struct CollectionConditionTests {
  @Test("the ETag depends on the content only")
  func tags() throws {
    var client = try Client()
    let first = try client.send("GET", "/people/1").headers["ETag"]
    #expect(first?.wholeMatch(of: /"[0-9a-f]{32}"/) != nil)
    #expect(try client.send("PUT", "/people/1", #"{"name":"Eve"}"#).headers["ETag"] != first)
    #expect(try client.send("PUT", "/people/1", #"{"name":"Ann"}"#).headers["ETag"] == first)
    #expect(try client.send("HEAD", "/people/2").headers["ETag"] != first)
  }

  @Test("answer 304 without a body if the client has the item", arguments: ["GET", "HEAD"])
  func unchanged(method: String) throws {
    var client = try Client()
    let tag = try client.send("GET", "/people/1").headers["ETag"] ?? ""
    for given in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
      let answer = try client.send(method, "/people/1", headers: ["If-None-Match": given])
      #expect(answer.status == 304)
      #expect(answer.body == [])
      #expect(answer.headers["ETag"] == tag)
    }
    #expect(try client.send(method, "/people/1", headers: ["If-None-Match": "\"other\""]).status == 200)
  }

  @Test("answer 412 if the item is not the expected one", arguments: ["PUT", "PATCH", "DELETE"])
  func changed(method: String) throws {
    var client = try Client()
    let tag = try client.send("GET", "/people/1").headers["ETag"] ?? ""
    for given in ["\"other\"", "W/\(tag)", ""] {
      let answer = try client.send(method, "/people/1", "{}", headers: ["If-Match": given])
      #expect(answer.status == 412)
      #expect(answer.detail == "the item has changed; GET it again for its ETag")
    }
    #expect(try client.send(method, "/people/1", "{}", headers: ["If-Match": "\"a\" , \(tag)"]).status < 300)
    #expect(try client.send(method, "/people/2", "{}", headers: ["If-Match": "*"]).status < 300)
  }

  @Test("create only, or replace only")
  func existence() throws {
    var client = try Client()
    #expect(try client.send("PUT", "/people/1", "{}", headers: ["If-None-Match": "*"]).status == 412)
    #expect(try client.send("PUT", "/people/9", "{}", headers: ["If-Match": "*"]).detail == "the item does not exist")
    #expect(try client.send("PUT", "/people/9", "{}", headers: ["If-None-Match": "*"]).status == 201)
    #expect(try client.send("DELETE", "/people/8", headers: ["If-Match": "*"]).status == 404)
  }
}
