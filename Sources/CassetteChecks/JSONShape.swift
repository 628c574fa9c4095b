import Basics
import Cassettes
import LaunchContract

/// The structure of a JSON value without its data: types, members, elements.
///
/// The elements of an array are merged into one shape; a member that only some of them have is optional. Members whose
/// names are ids (``ChangingName``) are treated as the values of a map.
struct JSONShape: Sendable, Equatable {
  /// The order of the cases is the order in titles.
  enum Kind: Int, Sendable, Comparable {
    case object, array, string, number, boolean, null

    static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }

    var title: String {
      switch self {
      case .object: "an object"
      case .array: "an array"
      case .string: "a string"
      case .number: "a number"
      case .boolean: "a boolean"
      case .null: "null"
      }
    }
  }

  /// Values nested deeper are described by their type only, because the comparison is recursive.
  static let maximumDepth = 64

  /// The types of all values seen here.
  private(set) var kinds: Set<Kind> = []
  /// The members of objects, by name.
  private(set) var members: [String: JSONShape] = [:]
  /// Members that not every object has.
  private(set) var optional: Set<String> = []
  /// The shape of the values under ids, at most one. An array, because a struct cannot contain itself.
  private var mapped: [JSONShape] = []
  /// The shape of array elements, at most one; empty if all arrays were empty.
  private var listed: [JSONShape] = []

  init(_ value: JSON, depth: Int = 0) {
    switch value {
    case .null: kinds = [.null]
    case .bool: kinds = [.boolean]
    case .number: kinds = [.number]
    case .string: kinds = [.string]
    case .array(let elements):
      kinds = [.array]
      guard depth < Self.maximumDepth else { return }
      for element in elements { listed = [Self.union(listed, JSONShape(element, depth: depth + 1))] }
    case .object(let members):
      kinds = [.object]
      guard depth < Self.maximumDepth else { return }
      for member in members {
        let shape = JSONShape(member.value, depth: depth + 1)
        if ChangingName.matches(member.key) {
          mapped = [Self.union(mapped, shape)]
        } else {
          self.members[member.key] = self.members[member.key]?.union(shape) ?? shape
        }
      }
    }
  }

  /// The shape of array elements; nil if there were none.
  var elements: JSONShape? { listed.first }
  /// The shape of the values under ids; nil if there were none.
  var values: JSONShape? { mapped.first }

  /// `a string`, `a string or null`.
  var title: String { kinds.sorted().map(\.title).joined(separator: " or ") }

  /// The shape of values that have either of two shapes.
  func union(_ other: JSONShape) -> JSONShape {
    var result = self
    result.kinds.formUnion(other.kinds)
    if kinds.contains(.object), other.kinds.contains(.object) {
      for name in members.keys where other.members[name] == nil { result.optional.insert(name) }
      for name in other.members.keys where members[name] == nil { result.optional.insert(name) }
    }
    result.optional.formUnion(other.optional)
    for (name, shape) in other.members { result.members[name] = members[name]?.union(shape) ?? shape }
    for shape in other.mapped { result.mapped = [Self.union(mapped, shape)] }
    for shape in other.listed { result.listed = [Self.union(listed, shape)] }
    return result
  }

  private static func union(_ shapes: [JSONShape], _ other: JSONShape) -> JSONShape {
    shapes.first?.union(other) ?? other
  }
}
