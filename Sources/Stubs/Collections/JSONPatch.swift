package import Basics
import Cassettes

/// The position of a value in a JSON document (RFC 6901), such as `/lines/0/price`.
package struct JSONPointer: Sendable, Equatable {
  /// The names and indexes without escapes; empty for the whole document.
  package let tokens: [String]

  /// - Parameter text: empty, or `/` before each name, in which `~0` is `~` and `~1` is `/`.
  /// - Throws: ``CodedError`` of kind `broken` for any other text.
  package init(_ text: String) throws(CodedError) {
    guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else {
      throw CodedError(.broken, "'\(text.prefix(80))' is not a JSON pointer; begin it with '/'")
    }
    // By bytes: a combining character after '/' or '~' belongs to the name.
    var tokens: [String] = []
    for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    where !text.isEmpty {
      var token: [UInt8] = []
      var isEscape = false
      for byte in part {
        switch (isEscape, byte) {
        case (false, UInt8(ascii: "~")): isEscape = true
        case (false, _): token.append(byte)
        case (true, UInt8(ascii: "0")), (true, UInt8(ascii: "1")):
          token.append(byte == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
          isEscape = false
        default: throw Self.escapeError(text)
        }
      }
      guard !isEscape else { throw Self.escapeError(text) }
      tokens.append(String(decoding: token, as: UTF8.self))
    }
    self.tokens = tokens
  }

  private static func escapeError(_ text: String) -> CodedError {
    CodedError(
      .broken, "'~' in the JSON pointer '\(text.prefix(80))' is followed by neither 0 nor 1; write '~' as '~0'")
  }

  /// The token of a name.
  static func escaped(_ name: String) -> String {
    name.replacing("~", with: "~0").replacing("/", with: "~1")
  }

  package var text: String { tokens.map { "/" + Self.escaped($0) }.joined() }

  package static func == (left: Self, right: Self) -> Bool {
    left.tokens.elementsEqual(right.tokens) { $0.hasSameBytes(as: $1) }
  }

  /// The index that a token means in an array: digits without leading zeros (RFC 6901, 4).
  static func index(_ token: String) -> Int? {
    guard token.utf8.count <= 10, let index = Int(token), index >= 0, String(index) == token else { return nil }
    return index
  }
}

extension JSON {
  /// The value at a position; nil if there is none.
  package subscript(_ pointer: JSONPointer) -> JSON? {
    var value = self
    for token in pointer.tokens {
      if let member = value.object?[token] {
        value = member
      } else if let elements = value.array, let index = JSONPointer.index(token), elements.indices.contains(index) {
        value = elements[index]
      } else {
        return nil
      }
    }
    return value
  }

  /// The value after a merge patch (RFC 7396): null removes a member, an object is merged into the existing one, and any
  /// other value replaces the old one. Members keep their order.
  package func merging(_ patch: JSON) -> JSON {
    guard case .object(let changes) = patch else { return patch }
    var members: [JSON.Member?] = object ?? []
    var positions = Dictionary(
      (object ?? []).enumerated().map { (Array($1.key.utf8), $0) }, uniquingKeysWith: { first, _ in first })
    for change in changes {
      let key = Array(change.key.utf8)
      let position = positions[key]
      if change.value == .null {
        if let position { members[position] = nil }
        positions[key] = nil
      } else if let position {
        members[position] = JSON.Member(change.key, (members[position]?.value ?? .null).merging(change.value))
      } else {
        positions[key] = members.count
        members.append(.init(change.key, JSON.null.merging(change.value)))
      }
    }
    return .object(members.compactMap(\.self))
  }

  /// How deep arrays and objects are nested, how many values there are, and about how many bytes they take as JSON.
  var extent: (depth: Int, count: Int, size: Int) {
    var extent = (depth: 0, count: 0, size: 0)
    var open = [(value: self, depth: 0)]
    while let (value, depth) = open.popLast() {
      extent.count += 1
      extent.depth = max(extent.depth, depth)
      switch value {
      case .null, .bool: extent.size += 4
      case .number(let text): extent.size += text.utf8.count
      case .string(let text): extent.size += text.utf8.count + 2
      case .array(let elements):
        extent.depth = max(extent.depth, depth + 1)
        extent.size += 2 + elements.count
        for element in elements { open.append((element, depth + 1)) }
      case .object(let members):
        extent.depth = max(extent.depth, depth + 1)
        extent.size += 2
        for member in members {
          extent.size += member.key.utf8.count + 4
          open.append((member.value, depth + 1))
        }
      }
    }
    return extent
  }

  /// Why a value cannot be stored: a name that occurs twice in an object, or too deep nesting; nil if it can.
  func flaw(maximumDepth: Int) -> String? {
    guard extent.depth <= maximumDepth else {
      return "arrays and objects are nested more than \(maximumDepth) levels deep"
    }
    var open = [self]
    while let value = open.popLast() {
      open += value.array ?? []
      guard let members = value.object else { continue }
      var names: Set<[UInt8]> = []
      for member in members {
        guard names.insert(Array(member.key.utf8)).inserted else {
          return "the member '\(member.key.prefix(80))' occurs twice in an object"
        }
        open.append(member.value)
      }
    }
    return nil
  }
}

/// A JSON Patch (RFC 6902): operations that change a document, all or none of them.
///
/// ```swift
/// let patch = try JSONPatch(try JSON.parse(Array(#"[{"op": "replace", "path": "/name", "value": "Ann"}]"#.utf8)))
/// let changed = try patch.apply(to: document)
/// ```
package struct JSONPatch: Sendable {
  /// The most operations of a patch.
  package static let maximumOperations = 10_000
  /// The maximum nesting of a changed document, that of values that ``JSON`` decodes.
  package static let maximumDepth = JSON.maximumDecodedDepth
  /// How many bytes of JSON the operations can add, copies included.
  package static let maximumAddedSize = 16 << 20
  /// The maximum number of elements and members that the operations look at or shift.
  private static let maximumSteps = 10_000_000

  private enum Operation: Sendable {
    case add(JSONPointer, JSON)
    case remove(JSONPointer)
    case replace(JSONPointer, JSON)
    case move(from: JSONPointer, to: JSONPointer)
    case copy(from: JSONPointer, to: JSONPointer)
    case test(JSONPointer, JSON)
  }

  private static let names = ["add", "remove", "replace", "move", "copy", "test"]

  private let operations: [Operation]

  /// - Parameter json: the array of operations. Members that the RFC does not define are ignored, as it demands.
  /// - Throws: ``CodedError`` of kind `broken`, with the place, such as `[0].path`.
  package init(_ json: JSON) throws(CodedError) {
    guard let list = json.array else {
      throw CodedError(
        .broken, #"a JSON Patch is an array of operations, such as [{"op": "remove", "path": "/name"}]"#)
    }
    guard list.count <= Self.maximumOperations else {
      throw CodedError(
        .broken, "\(list.count) operations; a patch can have at most \(Self.maximumOperations), so send several")
    }
    var operations: [Operation] = []
    for (number, element) in list.enumerated() { operations.append(try Self.operation(element, at: "[\(number)]")) }
    self.operations = operations
  }

  private static func operation(_ json: JSON, at place: String) throws(CodedError) -> Operation {
    let members = try Members(json, at: place)
    for name in ["op", "path", "from", "value"] where (json.object ?? []).count(where: { $0.key == name }) > 1 {
      throw members.error(name, "occurs twice; keep one of them")
    }
    guard let name = try members.string("op") else { throw members.error("op", "missing") }
    guard names.contains(name) else {
      let near = EditDistance.likely(name, among: names).map { "did you mean \($0)?" }
      throw members.error(
        "op", "'\(name.prefix(40))' is not an operation; \(near ?? "use " + names.joined(separator: ", "))")
    }
    func pointer(_ member: String) throws(CodedError) -> JSONPointer {
      guard let text = try members.string(member) else { throw members.error(member, "missing") }
      return try members.at(member) { () throws(CodedError) in try JSONPointer(text) }
    }
    func value() throws(CodedError) -> JSON {
      // Null is a value, too.
      guard let value = json.object?["value"] else { throw members.error("value", "missing") }
      return value
    }
    let path = try pointer("path")
    return switch name {
    case "add": .add(path, try value())
    case "remove": .remove(path)
    case "replace": .replace(path, try value())
    case "move": .move(from: try pointer("from"), to: path)
    case "copy": .copy(from: try pointer("from"), to: path)
    default: .test(path, try value())
    }
  }

  /// The document after all operations.
  ///
  /// - Throws: ``CodedError``, of kind `broken` if an operation does not fit the document, of kind `usage` if the patch
  ///   exceeds its limits. The place is the operation's, such as `[0]`.
  package func apply(to document: JSON) throws(CodedError) -> JSON {
    var application = Application()
    var document = document
    for (number, operation) in operations.enumerated() {
      do throws(CodedError) { try application.apply(operation, to: &document) } catch {
        throw CodedError(error.kind, error.problem, at: "[\(number)]")
      }
    }
    return document
  }

  /// One use of a patch, with what is left of its limits.
  private struct Application {
    private var steps = 0
    private var added = 0

    mutating func apply(_ operation: Operation, to document: inout JSON) throws(CodedError) {
      switch operation {
      case .add(let path, let value): try add(value, at: path, to: &document)
      case .remove(let path): _ = try remove(path, from: &document)
      case .replace(let path, let value):
        guard !path.tokens.isEmpty else { return try add(value, at: path, to: &document) }
        try count(value, at: path)
        try change(&document, path.tokens[...], path) { (parent, token) throws(CodedError) in
          switch parent {
          case .object(var members):
            guard let index = members.firstIndex(where: { $0.key.hasSameBytes(as: token) }) else {
              throw Self.missing(path)
            }
            parent = .null
            members[index].value = value
            parent = .object(members)
          case .array(var elements):
            let index = try Self.index(token, below: elements.count, path)
            parent = .null
            elements[index] = value
            parent = .array(elements)
          default: throw Self.missing(path)
          }
        }
      case .move(let from, let path):
        let value = try value(at: from, in: document)
        if from == path { return }
        guard path.tokens.count <= from.tokens.count || !path.tokens.starts(with: from.tokens) else {
          throw CodedError(.broken, "'\(from.text.prefix(80))' cannot be moved into itself")
        }
        _ = try remove(from, from: &document)
        try add(value, at: path, to: &document, isCounted: false)
      case .copy(let from, let path): try add(try value(at: from, in: document), at: path, to: &document)
      case .test(let path, let expected):
        let value = try value(at: path, in: document)
        // No more than the expected value is looked at: values of different size are never compared further.
        guard CanonicalJSON.areSame(value, expected) else {
          throw CodedError(.broken, "the value at '\(path.text.prefix(80))' is not the tested one")
        }
      }
    }

    private mutating func add(
      _ value: JSON, at path: JSONPointer, to document: inout JSON, isCounted: Bool = true
    ) throws(CodedError) {
      try count(value, at: path, isAdded: isCounted)
      guard !path.tokens.isEmpty else { return document = value }
      try change(&document, path.tokens[...], path) { (parent, token) throws(CodedError) in
        switch parent {
        case .object(var members):
          parent = .null
          members[token] = value
          parent = .object(members)
        case .array(var elements):
          let index = token == "-" ? elements.count : try Self.index(token, below: elements.count + 1, path)
          parent = .null
          elements.insert(value, at: index)
          parent = .array(elements)
        default: throw Self.missing(path)
        }
      }
    }

    private mutating func remove(_ path: JSONPointer, from document: inout JSON) throws(CodedError) -> JSON {
      guard !path.tokens.isEmpty else {
        throw CodedError(.broken, "the whole document cannot be removed or moved; replace it")
      }
      var removed = JSON.null
      try change(&document, path.tokens[...], path) { (parent, token) throws(CodedError) in
        switch parent {
        case .object(var members):
          guard let index = members.firstIndex(where: { $0.key.hasSameBytes(as: token) }) else {
            throw Self.missing(path)
          }
          parent = .null
          removed = members.remove(at: index).value
          parent = .object(members)
        case .array(var elements):
          let index = try Self.index(token, below: elements.count, path)
          parent = .null
          removed = elements.remove(at: index)
          parent = .array(elements)
        default: throw Self.missing(path)
        }
      }
      return removed
    }

    /// Calls a closure with the array or object that a path leads to, and the path's last token.
    ///
    /// Recursive: values are never nested deeper than ``JSONPatch/maximumDepth``, or a parsed document.
    private mutating func change(
      _ value: inout JSON, _ tokens: ArraySlice<String>, _ path: JSONPointer,
      _ body: (inout JSON, String) throws(CodedError) -> Void
    ) throws(CodedError) {
      // An array that is shared is copied, and one that grows or shrinks is shifted.
      try spend((value.array?.count ?? value.object?.count ?? 0) + 1)
      guard let token = tokens.first else { return }
      if tokens.count == 1 { return try body(&value, token) }
      switch value {
      case .object(var members):
        guard let index = members.firstIndex(where: { $0.key.hasSameBytes(as: token) }) else {
          throw Self.missing(path)
        }
        // A second reference would copy all elements.
        value = .null
        try change(&members[index].value, tokens.dropFirst(), path, body)
        value = .object(members)
      case .array(var elements):
        let index = try Self.index(token, below: elements.count, path)
        value = .null
        try change(&elements[index], tokens.dropFirst(), path, body)
        value = .array(elements)
      default: throw Self.missing(path)
      }
    }

    private mutating func value(at path: JSONPointer, in document: JSON) throws(CodedError) -> JSON {
      var value = document
      for token in path.tokens {
        try spend((value.object?.count ?? 0) + 1)
        if let elements = value.array {
          value = elements[try Self.index(token, below: elements.count, path)]
        } else if let member = value.object?[token] {
          value = member
        } else {
          throw Self.missing(path)
        }
      }
      return value
    }

    private static func index(_ token: String, below end: Int, _ path: JSONPointer) throws(CodedError) -> Int {
      guard let index = JSONPointer.index(token) else {
        throw CodedError(.broken, "'\(token.prefix(40))' in '\(path.text.prefix(80))' is not the index of an element")
      }
      guard index < end else { throw missing(path) }
      return index
    }

    private static func missing(_ path: JSONPointer) -> CodedError {
      CodedError(.broken, "nothing is at '\(path.text.prefix(80))', or it has no place there")
    }

    private mutating func spend(_ count: Int) throws(CodedError) {
      steps += count
      guard steps <= JSONPatch.maximumSteps else {
        throw CodedError(
          .usage, "the patch takes more than \(JSONPatch.maximumSteps) steps; send fewer operations at once")
      }
    }

    /// Checks that a value can be added at a path.
    private mutating func count(_ value: JSON, at path: JSONPointer, isAdded: Bool = true) throws(CodedError) {
      let extent = value.extent
      try spend(extent.count)
      guard extent.depth + path.tokens.count <= JSONPatch.maximumDepth else {
        throw CodedError(.usage, "arrays and objects would be nested more than \(JSONPatch.maximumDepth) levels deep")
      }
      guard isAdded else { return }
      added += extent.size
      guard added <= JSONPatch.maximumAddedSize else {
        throw CodedError(.usage, "the patch adds more than \(JSONPatch.maximumAddedSize) bytes; copy less")
      }
    }
  }
}
