import Basics
import Cassettes
import LaunchContract

/// Compares a shape with the recorded one.
///
/// - The elements of an empty array, and a value that was only ever `null`, are unknown; whatever takes their place is
///   not a change.
/// - A member that only some recordings have is optional; its presence or absence is not a change.
/// - Objects that are maps (three or more members that are objects of the same shape, and mostly different names) are
///   compared by the shape of their values.
struct ShapeComparison {
  private(set) var changes: [Change] = []
  /// Places whose member names are data.
  private(set) var maps: Set<String> = []

  /// - Parameters:
  ///   - recorded: the combined shape of the recorded values.
  ///   - live: the shape of the other value.
  init(recorded: JSONShape, live: JSONShape) {
    compare(recorded, live, at: "$")
  }

  private mutating func compare(_ recorded: JSONShape, _ live: JSONShape, at place: String) {
    guard recorded.kinds != [.null] else { return }
    if !live.kinds.isSubset(of: recorded.kinds) {
      changes.append(Change(.type, place, was: recorded.title, now: live.title))
    }
    if let recorded = recorded.elements, let live = live.elements { compare(recorded, live, at: place + "[]") }
    guard recorded.kinds.contains(.object), live.kinds.contains(.object) else { return }
    if let recorded = recorded.values, let live = live.values { compare(recorded, live, at: place + ".*") }
    if let (recorded, live) = Self.maps(recorded, live) {
      maps.insert(place)
      return compare(recorded, live, at: place + ".*")
    }
    for name in Set(recorded.members.keys).union(live.members.keys).sorted() {
      let step = place + JSONStep.text(name)
      switch (recorded.members[name], live.members[name]) {
      case (let recorded?, let live?): compare(recorded, live, at: step)
      case (let shape?, nil):
        if !recorded.optional.contains(name) { changes.append(Change(.gone, step, was: shape.title)) }
      case (nil, let shape?): changes.append(Change(.added, step, now: shape.title))
      case (nil, nil): break
      }
    }
  }

  /// The value shapes of two objects that are maps.
  private static func maps(_ recorded: JSONShape, _ live: JSONShape) -> (JSONShape, JSONShape)? {
    let names = Set(recorded.members.keys)
    let others = Set(live.members.keys)
    guard min(names.count, others.count) >= 3, names.intersection(others).count * 2 < names.union(others).count,
      let first = uniform(recorded), let second = uniform(live), first.members.keys == second.members.keys
    else { return nil }
    return (first, second)
  }

  /// The common shape of all members, if they are objects with the same members.
  private static func uniform(_ shape: JSONShape) -> JSONShape? {
    var all: JSONShape?
    for member in shape.members.values {
      guard member.kinds == [.object], !member.members.isEmpty else { return nil }
      if let before = all, before.members.keys != member.members.keys { return nil }
      all = all?.union(member) ?? member
    }
    return all
  }
}

/// The notation for a member in a path.
enum JSONStep {
  /// `.name`, or `["a name"]` if the name is not a simple word.
  static func text(_ name: String) -> String {
    let isWord =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "@"): true
        default: false
        }
      }
    guard !isWord else { return "." + name }
    var quoted: [UInt8] = []
    JSON.encode(Preview.shortened(name, to: Preview.usual), into: &quoted)
    return "[\(String(decoding: quoted, as: UTF8.self))]"
  }
}
