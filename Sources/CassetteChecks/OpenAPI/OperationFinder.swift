import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Finds the operation of a document that a recorded request belongs to.
struct OperationFinder {
  typealias Node = OpenAPIDocument.Node

  /// The result for a request.
  enum Match {
    case operation(Operation)
    /// The document has the path but not the method; with the methods that it has.
    case noMethod(path: Node, template: String, methods: [String])
    case noPath
  }

  struct Operation {
    var node: Node
    /// The parameters of the operation, followed by those of the path, which it overrides.
    var parameters: [Node]
    /// The decoded values of the `{name}` variables in the path.
    var pathValues: [String: String]
    /// Whether a `GET` operation is used for a `HEAD` request.
    var isForHead: Bool
  }

  private struct Template {
    var path: Node
    var text: String
    /// The segments of the server's path followed by those of a path such as `/v1/users/{id}`.
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
    // Paths without variables take precedence (OpenAPI, "Path Templating Matching").
    templates.sort { ($0.variables, $0.text) < ($1.variables, $1.text) }
  }

  /// The base paths of the servers. Hosts are ignored because tests use other hosts.
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

  /// Matches one segment, such as `{id}` or `{id}.pdf`. Each variable matches as little as possible, but at least one
  /// character.
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
  /// Decodes the percent-escapes of a path segment.
  static func unescapedPath(_ segment: Substring) -> String {
    unescaped(segment.utf8.contains(UInt8(ascii: "~")) ? Substring(escaped(String(segment))) : segment)
  }
}
