package import Basics
import Foundation

/// A value in a template. Prints as its Java counterpart does in WireMock.
package enum TemplateValue: Sendable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case decimal(JavaDecimal)
  case string(String)
  case list(TemplateList)
  case map(TemplateMap)
  case date(TemplateDate)
  case element(TemplateElement)
  case request(TemplateRequest)

  /// The value of JSON, with numbers as Jackson reads them: fractions are decimal, 1.50 is not 1.5.
  package init(_ json: JSON) { self.init(json, isFromPath: false) }

  /// The value of JSON. A result of a JSONPath has binary fractions and prints as JSON.
  init(_ json: JSON, isFromPath: Bool) {
    switch json {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .string(let text): self = .string(text)
    case .number(let text):
      if let int = Int(text) {
        self = .int(int)
      } else if !isFromPath || !text.contains(where: { ".eE".contains($0) }), let decimal = JavaDecimal(text) {
        self = .decimal(decimal)
      } else {
        self = .double(Double(text) ?? .nan)
      }
    case .array(let elements):
      self = .list(
        TemplateList(elements.map { TemplateValue($0, isFromPath: isFromPath) }, isFromPath ? .json : .plain))
    case .object(let members):
      var kept: [(String, TemplateValue)] = []
      var indices: [String: Int] = [:]
      for member in members {
        let value = TemplateValue(member.value, isFromPath: isFromPath)
        if let index = indices[member.key], kept[index].0.hasSameBytes(as: member.key) {
          kept[index].1 = value
        } else {
          indices[member.key] = kept.count
          kept.append((member.key, value))
        }
      }
      self = .map(TemplateMap(kept))
    }
  }

  /// The value as JSON.
  package var json: JSON {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .double(let value): .number(value.javaText)
    case .decimal(let value): .number(value.plainText)
    case .string(let text): .string(text)
    case .list(let list):
      // WireMock writes a single value without brackets.
      list.style == .first && list.elements.count == 1 ? list.elements[0].json : .array(list.elements.map(\.json))
    case .map(let map): .object(map.members.map { JSON.Member($0.name, $0.value.json) })
    case .date(let date): .int(date.milliseconds)
    case .element(let element): .string(element.source)
    case .request(let request): .object(request.members.map { JSON.Member($0, (request.member($0) ?? .null).json) })
    }
  }

  /// Nil for null.
  var present: TemplateValue? {
    if case .null = self { nil } else { self }
  }

  /// Whether conditions take it for false. A map is never empty.
  var isEmpty: Bool {
    switch self {
    case .null: true
    case .bool(let value): !value
    case .int(let value): value == 0
    case .double(let value): value == 0
    case .decimal(let value): value.unscaled == 0
    case .string(let text): text.isEmpty
    case .list(let list): list.elements.isEmpty
    case .map, .date, .element, .request: false
    }
  }

  /// How much there is to read, roughly in bytes.
  var size: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .list(let list): list.weight * 16
    case .map(let map): map.members.count * 16
    default: 0
    }
  }

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The number as a Double; nil for any other kind.
  var number: Double? {
    switch self {
    case .int(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): value.double
    default: nil
    }
  }

  /// The value of a member, or of a property that Java has for it, such as `size`.
  func member(_ name: String) -> TemplateValue? {
    switch self {
    case .map(let map):
      if let value = map[name]?.present { return value }
      return switch name {
      case "size": .int(map.members.count)
      case "empty", "isEmpty": .bool(map.members.isEmpty)
      case "keySet": .list(TemplateList(map.members.map { .string($0.name) }))
      case "values": .list(TemplateList(map.members.map(\.value)))
      default: nil
      }
    case .list(let list):
      if case .path(_, let variables) = list.style, let value = variables[name] { return .string(value) }
      return switch name {
      case "size", "length": .int(list.elements.count)
      case "empty", "isEmpty": .bool(list.elements.isEmpty)
      case "first" where list.style == .first: list.elements.first
      case "last" where list.style == .first: list.elements.last
      case "single" where list.style == .first, "isSingle" where list.style == .first: .bool(list.elements.count == 1)
      default: nil
      }
    case .string(let text):
      return switch name {
      case "length": .int(text.utf16.count)
      case "empty", "isEmpty": .bool(text.isEmpty)
      case "blank", "isBlank": .bool(text.allSatisfy(\.isJavaWhitespace))
      case "trim", "strip": .string(text.javaTrimmed)
      case "toUpperCase": .string(text.uppercased())
      case "toLowerCase": .string(text.lowercased())
      default: nil
      }
    case .element(let element):
      return switch name {
      case "name": .string(element.name)
      case "text": .string(element.text)
      case "attributes": .map(TemplateMap(element.attributes.map { ($0.name, .string($0.value)) }))
      default: nil
      }
    case .request(let request): return request.member(name)?.present
    case .date(let date): return name == "time" ? .int(date.milliseconds) : nil
    case .null, .bool, .int, .double, .decimal: return nil
    }
  }

  /// The element at an index of a list, or the member with that name.
  func element(_ index: Int, _ name: String) -> TemplateValue? {
    guard case .list(let list) = self else { return member(name) }
    // WireMock counts from the end with this formula, one too far.
    let index = index < 0 && list.style == .first ? list.elements.count - 1 + index : index
    return list.elements.indices.contains(index) ? list.elements[index].present : nil
  }

  /// The text, if it has no more bytes than the limit of templates.
  var text: String {
    var text = ""
    _ = write(into: &text, limit: Template.Limit.output)
    return text
  }

  /// Appends the text; returns false if it exceeds a limit in bytes.
  func write(into output: inout String, limit: Int) -> Bool {
    switch self {
    case .null: output += "null"
    case .bool(let value): output += value ? "true" : "false"
    case .int(let value): output += String(value)
    case .double(let value): output += value.javaText
    case .decimal(let value): output += value.text
    case .string(let text): output += text
    case .date(let date): output += date.text
    case .element(let element): output += element.source
    case .request(let request): output += "\(request.method) \(request.url)"
    case .list(let list):
      switch list.style {
      case .path(let path, _): output += path
      case .first: return list.elements.first?.write(into: &output, limit: limit) ?? true
      case .json:
        // json-smart escapes slashes.
        output += JSON.array(list.elements.map(\.json)).text.replacing("/", with: "\\/")
      case .plain:
        output += "["
        for (index, element) in list.elements.enumerated() {
          if index > 0 { output += ", " }
          guard element.write(into: &output, limit: limit) else { return false }
        }
        output += "]"
      }
    case .map(let map):
      if map.isFromPath {
        json.writeLikeJackson(into: &output)
      } else {
        output += "{"
        for (index, member) in map.members.enumerated() {
          if index > 0 { output += ", " }
          output += member.name + "="
          guard member.value.write(into: &output, limit: limit) else { return false }
        }
        output += "}"
      }
    }
    return output.utf8.count <= limit
  }
}

extension TemplateValue: Equatable {
  /// Whether both are equal in Java: numbers by value, a list of one value not equal to the value.
  package static func == (left: TemplateValue, right: TemplateValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    case (.list(let left), .list(let right)): left.elements == right.elements
    case (.map(let left), .map(let right)):
      left.members.count == right.members.count && left.members.allSatisfy { right[$0.name] == $0.value }
    case (.date(let left), .date(let right)): left.milliseconds == right.milliseconds
    case (.request(let left), .request(let right)): left === right
    default:
      if let left = left.number, let right = right.number { left == right } else { false }
    }
  }
}

/// A list in a template.
package struct TemplateList: Sendable {
  /// How a list prints.
  package enum Style: Sendable, Equatable {
    /// `[a, b]`.
    case plain
    /// As its first element: the values of a header, a cookie or a query parameter.
    case first
    /// As JSON: a result of a JSONPath.
    case json
    /// As a URL's path, whose segments it holds, with the variables of an `urlPathTemplate`.
    case path(String, variables: [String: String])
  }

  package let elements: [TemplateValue]
  package let style: Style
  /// The number of lists in each other, and of elements in all of them.
  let depth: Int
  let weight: Int

  package init(_ elements: [TemplateValue], _ style: Style = .plain) {
    self.elements = elements
    self.style = style
    var depth = 0
    var weight = elements.count
    for case .list(let list) in elements {
      depth = max(depth, list.depth)
      weight += list.weight
    }
    self.depth = depth + 1
    self.weight = weight
  }
}

/// A map with ordered members in a template.
package struct TemplateMap: Sendable {
  package let members: [(name: String, value: TemplateValue)]
  /// Whether names match in any case of A to Z, as those of headers do.
  let ignoresCase: Bool
  /// Whether it is the result of a JSONPath and prints as JSON.
  var isFromPath = false
  /// Where names are, in a large map.
  private let indices: [String: Int]

  package init(_ members: [(String, TemplateValue)], ignoresCase: Bool = false) {
    self.members = members.map { (name: $0.0, value: $0.1) }
    self.ignoresCase = ignoresCase
    let isLarge = members.count > 16 && !ignoresCase
    indices = isLarge ? Dictionary(members.enumerated().map { ($1.0, $0) }) { first, _ in first } : [:]
  }

  package subscript(_ name: String) -> TemplateValue? {
    if let index = indices[name], members[index].name.hasSameBytes(as: name) { return members[index].value }
    if !indices.isEmpty, indices[name] == nil { return nil }
    let index = members.firstIndex {
      ignoresCase ? $0.name.lowercased() == name.lowercased() : $0.name.hasSameBytes(as: name)
    }
    return index.map { members[$0].value }
  }
}

/// An element, attribute or text that an XPath selects.
package struct TemplateElement: Sendable, Equatable {
  package struct Attribute: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package var name: String
  package var text: String
  package var attributes: [Attribute]
  /// What it prints: an element's XML, with line breaks as in WireMock; the text of others.
  package var source: String

  package init(name: String, text: String, attributes: [Attribute] = [], source: String) {
    self.name = name
    self.text = text
    self.attributes = attributes
    self.source = source
  }
}

extension JSON {
  /// Writes JSON like Jackson's default pretty printer: `"a" : [ 1, 2 ]`, without members that are null.
  func writeLikeJackson(into output: inout String, level: Int = 0) {
    switch self {
    case .object(let members):
      let members = members.filter { $0.value != .null }
      guard !members.isEmpty else { return output += "{ }" }
      let indent = String(repeating: "  ", count: level)
      for (index, member) in members.enumerated() {
        output += "\(index == 0 ? "{" : ",")\n\(indent)  \(JSON.string(member.key).encodedText) : "
        member.value.writeLikeJackson(into: &output, level: level + 1)
      }
      output += "\n\(indent)}"
    case .array(let elements):
      guard !elements.isEmpty else { return output += "[ ]" }
      for (index, element) in elements.enumerated() {
        output += index == 0 ? "[ " : ", "
        element.writeLikeJackson(into: &output, level: level)
      }
      output += " ]"
    case .null, .bool, .number, .string: output += encodedText
    }
  }

  private var encodedText: String { String(decoding: encoded(), as: UTF8.self) }
}

extension String {
  /// Without characters up to U+0020 at both ends, as Java's `trim` does.
  var javaTrimmed: String {
    String(
      trimmingPrefix { $0.unicodeScalars.allSatisfy { $0.value <= 0x20 } }.trimmingSuffix {
        $0.unicodeScalars.allSatisfy { $0.value <= 0x20 }
      })
  }
}

extension StringProtocol {
  func trimmingSuffix(while predicate: (Character) -> Bool) -> SubSequence {
    guard let last = lastIndex(where: { !predicate($0) }) else { return self[startIndex..<startIndex] }
    return self[...last]
  }

  fileprivate func trimmingPrefix(_ predicate: (Character) -> Bool) -> SubSequence { drop(while: predicate) }
}
