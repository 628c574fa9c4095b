package import Basics
import Cassettes
import CassetteConversion
import LaunchContract

/// An OpenAPI 3.0 or 3.1 document, as far as it is needed to check recorded traffic.
package struct OpenAPIDocument: Sendable {
  /// A value in the document and its location.
  struct Node: Sendable {
    let json: JSON
    /// A JSON pointer (RFC 6901) such as `#/paths/~1users/get`.
    let pointer: String

    /// The member with a name, or nil.
    subscript(_ name: String) -> Node? {
      json[name].map { Node(json: $0, pointer: "\(pointer)/\(Pointer.escaped(name))") }
    }

    /// The elements of an array.
    var elements: [Node] {
      (json.array ?? []).enumerated().map { Node(json: $1, pointer: "\(pointer)/\($0)") }
    }

    /// The members of an object, in order.
    var members: [(name: String, node: Node)] {
      (json.object ?? []).map { ($0.key, Node(json: $0.value, pointer: "\(pointer)/\(Pointer.escaped($0.key))")) }
    }
  }

  let root: Node
  /// Whether the version is 3.0, which has `nullable` and Boolean values for `exclusiveMinimum`.
  let isOld: Bool
  /// Parts that apply to the whole document and are not supported.
  let doubts: [Unsupported]

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - bytes: the document in YAML or JSON.
  ///   - name: the file name for messages.
  /// - Throws: ``CodedError`` if it is not an OpenAPI document or has another version.
  package init(_ bytes: [UInt8], name: String) throws(CodedError) {
    let advice = "fix the document, or name another with --openapi"
    let json: JSON
    do {
      json = try JSON.parse(bytes, name: name, advice: advice)
    } catch {
      guard bytes.first(where: { $0 > 0x20 }) != UInt8(ascii: "{") else { throw error }
      json = try YAMLReader.parse(bytes, name: name, advice: advice).json
    }
    root = Node(json: json, pointer: "#")
    guard let version = json["openapi"].flatMap({ $0.string ?? Self.text($0) }) else {
      let what =
        json["swagger"] != nil
        ? "it is a Swagger 2.0 document, and OpenAPI 3.0 or 3.1 is wanted"
        : "not an OpenAPI document: it has no member 'openapi'"
      throw CodedError(
        name: name, problem: what, advice: json["swagger"] != nil ? "convert it, with swagger2openapi for one" : advice)
    }
    guard version.hasPrefix("3.") else {
      throw CodedError(
        name: name, problem: "its version is \(version.shortened(40)), not 3.0 or 3.1", advice: advice)
    }
    isOld = version.hasPrefix("3.0")
    doubts =
      isOld || version.hasPrefix("3.1")
      ? [] : [Unsupported(pointer: "#/openapi", text: "version \(version.shortened(40)) is read as 3.1")]
  }

  private static func text(_ value: JSON) -> String? {
    guard case .number(let text) = value else { return nil }
    return text
  }

  /// Follows `$ref` within the document.
  ///
  /// - Returns: the referenced value; nil if it does not exist, which is added to `unsupported`.
  func resolved(_ node: Node, _ unsupported: inout [Unsupported]) -> Node? {
    var node = node
    // Only circular references need more steps than this.
    for _ in 0..<32 {
      guard let reference = node.json["$ref"]?.string else { return node }
      guard reference.hasPrefix("#") else {
        unsupported.append(.init(pointer: node.pointer, text: "$ref to another document: \(reference.shortened())"))
        return nil
      }
      guard let target = self[reference] else {
        unsupported.append(.init(pointer: node.pointer, text: "$ref to nothing: \(reference.shortened())"))
        return nil
      }
      node = target
    }
    unsupported.append(.init(pointer: node.pointer, text: "$ref in a circle"))
    return nil
  }

  /// The value at a pointer such as `#/components/schemas/User`, or nil.
  subscript(_ reference: String) -> Node? {
    guard reference != "#" else { return root }
    guard reference.hasPrefix("#/") else { return nil }
    var node = root
    for step in reference.dropFirst(2).split(separator: "/", omittingEmptySubsequences: false) {
      let name = Pointer.unescaped(step)
      if let member = node[name] {
        node = member
      } else if let index = Int(name), let elements = node.json.array, elements.indices.contains(index) {
        node = Node(json: elements[index], pointer: "\(node.pointer)/\(index)")
      } else {
        return nil
      }
    }
    return node
  }

  /// A part of a document that is not checked. Reported so that missing findings are not mistaken for a passed check.
  package struct Unsupported: Sendable, Hashable {
    package var pointer: String
    package var text: String
  }
}

/// JSON pointers (RFC 6901).
enum Pointer {
  static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }

  /// Decodes a step of a pointer in a URI fragment, which is percent-encoded.
  static func unescaped(_ step: Substring) -> String {
    var bytes: [UInt8] = []
    Array(step.utf8).withUnsafeBytes { text in
      var index = 0
      while index < text.count {
        if let byte = PercentCoding.byte(at: index, in: text) {
          bytes.append(byte)
          index += 3
        } else {
          bytes.append(text[index])
          index += 1
        }
      }
    }
    return String(decoding: bytes, as: UTF8.self).replacing("~1", with: "/").replacing("~0", with: "~")
  }
}
