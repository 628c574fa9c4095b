import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Finds the operation of a document that a request belongs to.
struct OperationFinder: Sendable {
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
    /// The path in the document, such as `/users/{id}`.
    var template: String
    /// The parameters of the operation, followed by those of the path, which it overrides.
    var parameters: [Node]
    /// The decoded values of the `{name}` variables in the path.
    var pathValues: [String: String]
    /// Whether a `GET` operation is used for a `HEAD` request.
    var isForHead: Bool
  }

  private struct Template: Sendable {
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

  /// - Parameters:
  ///   - document: the document.
  ///   - acceptsBarePaths: whether a path also matches without the server's base path.
  init(_ document: OpenAPIDocument, acceptsBarePaths: Bool = false) {
    self.document = document
    var bare: [Template] = []
    for (text, node) in document.root["paths"]?.members ?? [] {
      guard text.hasPrefix("/"), let path = document.resolved(node, &unsupported) else { continue }
      func template(_ base: String) -> Template {
        let segments = (base + text).split(separator: "/", omittingEmptySubsequences: true)
        return Template(
          path: path, text: text, segments: segments,
          variables: segments.count { $0.utf8.contains(UInt8(ascii: "{")) })
      }
      let bases = Self.bases(path["servers"] ?? document.root["servers"])
      templates += bases.map(template)
      if acceptsBarePaths, !bases.contains("") { bare.append(template("")) }
    }
    // Paths without variables take precedence (OpenAPI, "Path Templating Matching").
    templates.sort { ($0.variables, $0.text) < ($1.variables, $1.text) }
    templates += bare.sorted { ($0.variables, $0.text) < ($1.variables, $1.text) }
  }

  /// The path in the document that is most similar to a path, such as `/users/{id}`; nil without paths.
  func nearest(to path: Substring) -> String? {
    let segments = path.prefix(1000).split(separator: "/", omittingEmptySubsequences: true)
    let distances = templates.prefix(2000).map { template -> (distance: Int, text: String) in
      // A variable costs nothing; a missing or extra segment costs its length.
      var distance = 0
      for index in 0..<max(template.segments.count, min(segments.count, 20)) {
        let own = index < template.segments.count ? template.segments[index].prefix(80) : ""
        let given = index < segments.count ? segments[index].prefix(80) : ""
        if own.hasPrefix("{"), !given.isEmpty { continue }
        distance += EditDistance.between(String(own), String(given))
      }
      return (distance, template.text)
    }
    return distances.min { $0 < $1 }?.text
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
    let segments = path.split(separator: "/", omittingEmptySubsequences: true).map(Pointer.unescapedPath)
    let method = method.lowercased()
    var first: Template?
    for template in templates {
      guard let values = Self.values(of: template.segments, in: segments) else { continue }
      let isForHead = method == "head" && template.path["head"] == nil
      if let node = template.path[isForHead ? "get" : method], Self.methods.contains(method) {
        let own = node["parameters"]?.elements ?? []
        let shared = template.path["parameters"]?.elements ?? []
        return .operation(
          Operation(
            node: node, template: template.text, parameters: own + shared, pathValues: values, isForHead: isForHead))
      }
      first = first ?? template
    }
    guard let first else { return .noPath }
    return .noMethod(path: first.path, template: first.text, methods: Self.methods(of: first.path))
  }

  /// The methods of a path, in upper case.
  static func methods(of path: Node?) -> [String] {
    methods.filter { path?[$0] != nil }.map { $0.uppercased() }
  }

  private static func values(of template: [Substring], in segments: [String]) -> [String: String]? {
    guard template.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (pattern, segment) in zip(template, segments) {
      guard match(pattern, segment, &values) else { return nil }
    }
    return values
  }

  /// Matches one segment, such as `{id}` or `{id}.pdf`. Each variable matches as little as possible, but at least one
  /// character; the last one takes the rest.
  private static func match(_ pattern: Substring, _ text: String, _ values: inout [String: String]) -> Bool {
    guard pattern.utf8.contains(UInt8(ascii: "{")) else { return Pointer.unescapedPath(pattern).hasSameBytes(as: text) }
    let text = Array(text.unicodeScalars)
    // The text before the first variable, then each variable's name and the text after it.
    var parts: [(name: String?, literal: [Unicode.Scalar])] = []
    var rest = pattern
    var name: String?
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      parts.append((name, Array(Pointer.unescapedPath(rest[..<open]).unicodeScalars)))
      name = String(rest[rest.index(after: open)..<close])
      rest = rest[rest.index(after: close)...]
    }
    parts.append((name, Array(Pointer.unescapedPath(rest).unicodeScalars)))
    guard text.starts(with: parts[0].literal) else { return false }
    var start = parts[0].literal.count
    guard parts.count > 1 else { return start == text.count }
    for (number, part) in parts.enumerated().dropFirst() {
      let isLast = number == parts.count - 1
      var end = isLast ? text.count - part.literal.count : start + 1
      guard end > start else { return false }
      while end + part.literal.count <= text.count, !text[end...].starts(with: part.literal) { end += 1 }
      guard end + part.literal.count <= text.count else { return false }
      values[part.name ?? ""] = String(String.UnicodeScalarView(text[start..<end]))
      start = end + part.literal.count
    }
    return start == text.count
  }
}

extension Pointer {
  /// Decodes the percent-escapes of a path segment.
  static func unescapedPath(_ segment: Substring) -> String {
    unescaped(segment.utf8.contains(UInt8(ascii: "~")) ? Substring(escaped(String(segment))) : segment)
  }
}
