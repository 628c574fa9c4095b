package import Cassettes
import CassetteConversion
import LaunchContract

/// An OpenAPI 3.0 or 3.1 document, as far as recorded traffic can be held against it.
package struct OpenAPIDocument: Sendable {
  /// A value in the document, and where it stands.
  struct Node: Sendable {
    let json: JSON
    /// A JSON pointer (RFC 6901), `#/paths/~1users/get`.
    let pointer: String

    /// The value under a name; nil where there is none.
    subscript(_ name: String) -> Node? {
      json[name].map { Node(json: $0, pointer: "\(pointer)/\(Pointer.escaped(name))") }
    }

    /// The elements of an array.
    var elements: [Node] {
      (json.array ?? []).enumerated().map { Node(json: $1, pointer: "\(pointer)/\($0)") }
    }

    /// The members of an object, in their order.
    var members: [(name: String, node: Node)] {
      (json.object ?? []).map { ($0.key, Node(json: $0.value, pointer: "\(pointer)/\(Pointer.escaped($0.key))")) }
    }
  }

  let root: Node
  /// Whether it is of 3.0, where `nullable` stands for a type, and `exclusiveMinimum` is true or false.
  let isOld: Bool
  /// What of the document as a whole is not known here.
  let doubts: [Unsupported]

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - bytes: YAML or JSON.
  ///   - name: the file's, for messages.
  /// - Throws: ``CassetteError`` where it is none, or of another version.
  package init(_ bytes: [UInt8], name: String) throws(CassetteError) {
    let advice = "mend the document, or name another with --openapi"
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(bytes)
    } catch let error {
      let first = bytes.first { $0 > 0x20 }
      guard first != UInt8(ascii: "{") else {
        throw CassetteError(
          name: name, line: error.line, column: error.column, problem: error.problem, advice: advice)
      }
      do throws(CassetteError) {
        json = try YAMLReader.parse(bytes, name: name).json
      } catch {
        var error = error
        error.advice = advice
        throw error
      }
    }
    root = Node(json: json, pointer: "#")
    guard let version = json["openapi"].flatMap({ $0.string ?? Self.text($0) }) else {
      let what =
        json["swagger"] != nil
        ? "it is a Swagger 2.0 document, and OpenAPI 3.0 or 3.1 is wanted"
        : "it has no `openapi`: it is no OpenAPI document"
      throw CassetteError(
        name: name, problem: what, advice: json["swagger"] != nil ? "convert it, with swagger2openapi for one" : advice)
    }
    guard version.hasPrefix("3.") else {
      throw CassetteError(
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

  /// Follows `$ref`, within the document.
  ///
  /// - Returns: what it leads to; nil where it leads nowhere, which is added to `unsupported`.
  func resolved(_ node: Node, _ unsupported: inout [Unsupported]) -> Node? {
    var node = node
    // So many hops that none but a circle has more.
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

  /// The value at a pointer, `#/components/schemas/User`; nil where there is none.
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

  /// Something in a document that is not looked at, so that nobody takes silence for consent.
  package struct Unsupported: Sendable, Hashable {
    package var pointer: String
    package var text: String
  }
}

/// JSON pointers (RFC 6901).
enum Pointer {
  static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }

  /// A step of a pointer in a URI's fragment: percent-encoded there.
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
