import Cassettes
import HTTPMessages
import LaunchContract

/// Finds the operation of a document that a recorded request is for.
struct OperationFinder {
  typealias Node = OpenAPIDocument.Node

  /// What was found for a request.
  enum Match {
    case operation(Operation)
    /// The path is there, without the method; its methods.
    case noMethod(path: Node, template: String, methods: [String])
    case noPath
  }

  struct Operation {
    var node: Node
    /// Those of the path and of the operation, which outweigh them.
    var parameters: [Node]
    /// What stands in the path in the places of `{name}`, decoded.
    var pathValues: [String: String]
    /// Whether it is a `GET` that is to answer a `HEAD`.
    var isForHead: Bool
  }

  private struct Template {
    var path: Node
    var text: String
    /// `/v1/users/{id}` with the server's path before it, a segment each.
    var segments: [Substring]
    var variables: Int
  }

  private static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

  private let document: OpenAPIDocument
  private var templates: [Template] = []
  private(set) var unsupported: [OpenAPIDocument.Unsupported] = []

  init(_ document: OpenAPIDocument) {
    self.document = document
    for (text, node) in document.root["paths"]?.members ?? [] {
      guard text.hasPrefix("/"), let path = document.resolved(node, &unsupported) else { continue }
      for base in Self.bases(path["servers"] ?? document.root["servers"]) {
        let segments = (base + text).split(separator: "/", omittingEmptySubsequences: true)
        templates.append(
          Template(
            path: path, text: text, segments: segments,
            variables: segments.count { $0.utf8.contains(UInt8(ascii: "{")) }))
      }
    }
    // A path without variables goes before one with (OpenAPI, "Path Templating Matching").
    templates.sort { ($0.variables, $0.text) < ($1.variables, $1.text) }
  }

  /// The paths at which servers have the API: what counts is where on a host it stands, for a test's host is another.
  private static func bases(_ servers: Node?) -> [String] {
    var bases: [String] = []
    for server in servers?.elements ?? [] {
      guard var url = server.json["url"]?.string else { continue }
      for (name, variable) in server["variables"]?.members ?? [] {
        url = url.replacing("{\(name)}", with: variable.json["default"]?.string ?? "")
      }
      let path = String(
        RecordedURL(url.hasPrefix("/") || url.utf8.firstRange(of: "://".utf8) != nil ? url : "/" + url).path)
      let base = path.hasSuffix("/") ? String(path.dropLast()) : path
      if !bases.contains(base) { bases.append(base) }
    }
    return bases.isEmpty ? [""] : bases
  }

  func match(_ method: String, path: Substring) -> Match {
    let segments = path.split(separator: "/", omittingEmptySubsequences: true)
    let method = method.lowercased()
    var first: Template?
    for template in templates {
      guard let values = Self.values(of: template.segments, in: segments) else { continue }
      let isForHead = method == "head" && template.path["head"] == nil
      if let node = template.path[isForHead ? "get" : method], Self.methods.contains(method) {
        let own = node["parameters"]?.elements ?? []
        let shared = template.path["parameters"]?.elements ?? []
        return .operation(
          Operation(node: node, parameters: own + shared, pathValues: values, isForHead: isForHead))
      }
      first = first ?? template
    }
    guard let first else { return .noPath }
    let methods = Self.methods.filter { first.path[$0] != nil }.map { $0.uppercased() }
    return .noMethod(path: first.path, template: first.text, methods: methods)
  }

  private static func values(of template: [Substring], in segments: [Substring]) -> [String: String]? {
    guard template.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (pattern, segment) in zip(template, segments) {
      guard match(pattern[...], Pointer.unescapedPath(segment)[...], &values) else { return nil }
    }
    return values
  }

  /// One segment, `{id}` or `{id}.pdf`; each name takes as little as it can, but something.
  private static func match(_ pattern: Substring, _ text: Substring, _ values: inout [String: String]) -> Bool {
    guard let open = pattern.firstIndex(of: "{"), let close = pattern[open...].firstIndex(of: "}") else {
      return Pointer.unescapedPath(pattern) == String(text)
    }
    let before = pattern[..<open]
    guard text.hasPrefix(before) else { return false }
    let rest = text.dropFirst(before.count)
    let name = String(pattern[pattern.index(after: open)..<close])
    let after = pattern[pattern.index(after: close)...]
    var end = rest.startIndex
    while end < rest.endIndex {
      end = rest.index(after: end)
      var others = values
      if match(after, rest[end...], &others) {
        others[name] = String(rest[..<end])
        values = others
        return true
      }
    }
    return false
  }
}

extension Pointer {
  /// A segment of a path without its percent-escapes.
  static func unescapedPath(_ segment: Substring) -> String {
    unescaped(segment.utf8.contains(UInt8(ascii: "~")) ? Substring(escaped(String(segment))) : segment)
  }
}
