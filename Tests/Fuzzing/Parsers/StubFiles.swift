import Basics
import CassetteChecks
import Foundation
import HTTPMessages
import Stubs

/// Stubs, with the templates of their responses, collections, and OpenAPI documents.
enum StubFiles {
  private static let now = Date(timeIntervalSince1970: 1_539_000_000)

  /// A mapping with its conditions and templates, for a request whose body follows the first line and is a template, too.
  static func mapping(_ bytes: [UInt8]) throws {
    let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let body = parts.count > 1 ? Array(parts[1]) : []
    let request = StubRequest(
      method: "POST", target: "/orders/7?q=1&q=2", headers: ["X-A": "1", "Content-Type": "application/json"],
      body: body,
      scheme: "http", host: "127.0.0.1", port: 8080, upstream: nil)
    let context = MatchContext(now: now, timeZone: .gmt)
    do throws(CodedError) {
      let mapping = try MappingReader.mapping(JSON.parse(Array(parts[0])), isTemplate: true) { "id" }
      var store = StubStore()
      try store.add(mapping)
      _ = store.nearest(request, context).map { $0.mapping.request.differences(request, context) }
      if let match = try store.match(request, context) { try render(match, request, context) }
    } catch { precondition(!error.message.isEmpty) }
    let template = try Template(String(decoding: body, as: UTF8.self), name: "template")
    _ = try template.render(templateContext(request, RequestPattern().url, context))
  }

  private static func render(
    _ mapping: StubMapping, _ request: StubRequest, _ context: MatchContext
  ) throws(CodedError) {
    guard let templates = mapping.response.templates else { return }
    _ = try templates.rendered(mapping.response, templateContext(request, mapping.request.url, context))
  }

  private static func templateContext(
    _ request: StubRequest, _ url: RequestPattern.URLPattern, _ context: MatchContext
  ) -> TemplateContext {
    TemplateContext(request, url: url, parameters: .object([JSON.Member]()), context) { count in
      [UInt8](repeating: 7, count: count)
    }
  }

  /// A file of collections in the first line, then a request: a line with method and target, and the body.
  static func collections(_ bytes: [UInt8]) throws {
    let parts = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
    var set = try CollectionSet(JSON.parse(Array(parts[0])))
    guard parts.count > 1 else { return }
    let line = String(decoding: parts[1], as: UTF8.self).split(separator: " ", maxSplits: 1)
    let type = parts.last?.first == UInt8(ascii: "[") ? "application/json-patch+json" : "application/json"
    let request = StubRequest(
      method: line.first.map(String.init) ?? "GET", target: line.count > 1 ? String(line[1]) : "/",
      headers: ["Content-Type": type], body: parts.count > 2 ? Array(parts[2]) : [], scheme: "http", host: "h",
      port: 80,
      upstream: nil)
    var made = 0
    let answer = try set.respond(to: request) { () throws(CodedError) in
      made += 1
      return "id\(made)"
    }
    precondition(answer.map { 200..<600 ~= $0.status } ?? true)
  }

  /// An OpenAPI document, and the answers that it has for its first path.
  static func openAPI(_ bytes: [UInt8]) throws {
    let mock = try OpenAPIMock(bytes, name: "api")
    let nearest = mock.nearest(to: "/").split(separator: " ")
    let target = (nearest.last ?? "/").replacing(#/\{[^}]*\}/#, with: "7")
    for name in nearest.dropLast().prefix(2) {
      let method = String(name.filter { $0 != "," })
      for headers: Headers in [[:], ["Prefer": "dynamic=true", "Content-Type": "application/json"]] {
        let request = Request(
          method: method, target: "\(target)?a=1", headers: headers, body: .bytes(Array(#"{"a": {"a": [1]}}"#.utf8)))
        var draws = bytes.count
        let answer = mock.answer(to: request) { range in
          draws &+= 7
          let width = UInt(bitPattern: range.upperBound &- range.lowerBound)
          return width == .max ? draws : range.lowerBound &+ Int(bitPattern: UInt(bitPattern: draws) % (width + 1))
        }
        guard let answer else { continue }
        precondition(200..<600 ~= answer.status)
        let response = Response(status: answer.status, headers: answer.headers, body: .bytes(answer.body))
        _ = mock.violations(of: response, to: request)
      }
    }
  }
}
