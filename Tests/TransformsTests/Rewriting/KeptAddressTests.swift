import Basics
import Foundation
import HTTPMessages
import Testing

@testable import Transforms

@Suite("Kept addresses")
struct KeptAddressTests {
  private static func map(_ places: String...) throws -> AddressMap {
    var kept = KeptAddresses()
    for place in places { try kept.add(place) }
    return try AddressMap(
      upstreams: [.init(name: "idp", origin: Origin(parsing: "https://idp.test"), port: 20013)], mainPort: 20011,
      kept: kept)
  }

  private static func toApp(
    _ text: String, _ map: AddressMap, target: String? = "/", type: String = "application/json", pieces: Int = 1_000_000
  ) throws -> String {
    var rewriter = try #require(
      map.responseBodyRewriter(contentType: type, target: target, upstream: 0, form: .ownPort))
    let bytes = Array(text.utf8)
    var output: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      output += rewriter.push(Array(bytes[start..<min(start + pieces, bytes.count)]))
    }
    return String(decoding: output + rewriter.finish(), as: UTF8.self)
  }

  private static let discovery =
    #"{"issuer": "https:\/\/idp.test", "token_endpoint": "https://idp.test/token", "x": {"issuer": "https://idp.test"}}"#
  private static let kept =
    #"{"issuer": "https:\/\/idp.test", "token_endpoint": "http://127.0.0.1:20013/token", "x": {"issuer": "http://127.0.0.1:20013"}}"#

  @Test(
    "are by default the issuer of a discovery document",
    arguments: [
      "/.well-known/openid-configuration", "/realms/a/.well-known/openid-configuration?x=1",
      "/.well-known/openid-configuration/realms/a", "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-authorization-server/realms/a",
    ])
  func discovery(target: String) throws {
    #expect(try Self.toApp(Self.discovery, Self.map(), target: target) == Self.kept)
    #expect(try Self.toApp(Self.discovery, Self.map(), target: target, type: "text/plain") == Self.kept)
  }

  @Test(
    "are not the issuer elsewhere",
    arguments: [
      "/", "/.well-known/openid-configurations", "/.well-known/webfinger", "/?/.well-known/openid-configuration", nil,
    ])
  func elsewhere(target: String?) throws {
    #expect(try !Self.toApp(Self.discovery, Self.map(), target: target).contains("idp.test"))
  }

  @Test(
    "are by default the ids of keys",
    arguments: [
      ("/jwks", "application/json", true), ("/.well-known/jwks.json?a", "application/json", true),
      ("/protocol/openid-connect/certs", "application/json", true), ("/a", "application/jwk-set+json", true),
      ("/a", "application/json", false), ("/jwks/a", "application/json", false),
    ])
  func keys(target: String, type: String, isKept: Bool) throws {
    let keys = #"{"keys": [{"kid": "https://idp.test/1", "x5u": "https://idp.test/x"}], "kid": "https://idp.test/2"}"#
    let host = isKept ? "https://idp.test" : "http://127.0.0.1:20013"
    #expect(
      try Self.toApp(keys, Self.map(), target: target, type: type)
        == #"{"keys": [{"kid": "\#(host)/1", "x5u": "http://127.0.0.1:20013/x"}], "kid": "http://127.0.0.1:20013/2"}"#)
  }

  @Test("are those at places that settings name, whole or not", arguments: ["application/json", "text/event-stream"])
  func places(type: String) throws {
    let text = #"{"a": {"b": ["https://idp.test/1", {"c": "https://idp.test/2"}]}, "d": "https://idp.test/3"}"#
    let url = "http://127.0.0.1:20013"
    #expect(
      try Self.toApp(text, Self.map("$.a"), type: type)
        == #"{"a": {"b": ["https://idp.test/1", {"c": "https://idp.test/2"}]}, "d": "\#(url)/3"}"#)
    #expect(
      try Self.toApp(text, Self.map("$..b[0]", "$.d"), type: type)
        == #"{"a": {"b": ["https://idp.test/1", {"c": "\#(url)/2"}]}, "d": "https://idp.test/3"}"#)
    // Places are in JSON only.
    #expect(try !Self.toApp(text, Self.map("$.a"), type: "text/html").contains("idp.test"))
  }

  @Test("do not depend on how a body is split")
  func pieces() throws {
    let map = try Self.map("$..n", "$..s", "$..o")
    let text = #"""
      {"s": "x https://idp.test/é\" https://idp.test", "n": 12.5, "o": {"p": "//idp.test/1"}, "t": "//idp.test/2"}
      {"t": ["https://idp.test", "https://idp.tes", true], "s": "", "u": "https://idp.test"} https://idp.test
      """#
    let whole = try Self.toApp(text, map)
    #expect(whole.contains(#""s": "x https://idp.test/é\" https://idp.test", "n": 12.5, "o": {"p": "//idp.test/1"}"#))
    #expect(whole.components(separatedBy: "127.0.0.1:20013").count == 5)
    for size in 1...40 { #expect(try Self.toApp(text, map, pieces: size) == whole) }
  }

  @Test("are those of header fields that settings name")
  func headers() throws {
    let headers: Headers = ["X-Issuer": "https://idp.test", "X-Other": "https://idp.test"]
    let result = try Self.map("header:x-issuer").responseHeaders(headers, upstream: 0, form: .ownPort)
    #expect(result["X-Issuer"] == "https://idp.test" && result["X-Other"] == "http://127.0.0.1:20013")
  }

  @Test(
    "have places of responses only",
    arguments: [
      ("issuer", "is not a place"), ("query:iss", "not a place in responses"), ("form:iss", "not a place in responses"),
      ("$.a[-1]", "counts from the end"), ("$.", "is not a valid JSON path"), ("body:x", "there is no place 'body'"),
    ])
  func invalid(place: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try Self.map(place) }
    #expect(error?.message.contains(problem) == true, "\(String(describing: error))")
  }
}
