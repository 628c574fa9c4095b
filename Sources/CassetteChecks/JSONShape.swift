import Cassettes
import LaunchContract

/// What a JSON value is made of, without what it says: kinds, members, elements.
///
/// The shape of an array's elements is the union of theirs: a member that only some of them have is optional. Members
/// whose names are ids (``ChangingName``) are the values of a map, whatever their names.
struct JSONShape: Sendable, Equatable {
  /// In the order in which they are named.
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

  /// Values deeper than this count by their kind alone: the comparison is recursive.
  static let maximumDepth = 64

  /// Of all values that were seen here.
  private(set) var kinds: Set<Kind> = []
  /// Of objects, by name.
  private(set) var members: [String: JSONShape] = [:]
  /// Members that not every object has.
  private(set) var optional: Set<String> = []
  /// The values under ids, at most one shape: a struct cannot hold itself, an array can.
  private var mapped: [JSONShape] = []
  /// An array's, likewise; none where all arrays were empty.
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

  /// The shape of an array's elements; nil where there were none.
  var elements: JSONShape? { listed.first }
  /// The shape of the values under ids; nil where there were none.
  var values: JSONShape? { mapped.first }

  /// `a string`, `a string or null`.
  var title: String { kinds.sorted().map(\.title).joined(separator: " or ") }

  /// What has one of two shapes.
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
