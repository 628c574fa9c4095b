import Cassettes
import HTTPMessages
import LaunchContract

/// What became of a cassette: interactions gone, added and changed.
///
/// An interaction of one is that of the other whose request counts as the same (repeats in their order). Of those left
/// over, the ones for the same path, then those for a path that differs in ids only, belong together: their requests
/// changed.
package struct CassetteDiff {
  /// One interaction that is not as it was.
  package struct Entry: Sendable {
    /// Its index in the old cassette; nil where it is new.
    package var old: Int?
    /// Its index in the new one; nil where it is gone.
    package var new: Int?
    /// Method and URL, as the new cassette has them.
    package var method: String
    package var url: String
    /// Empty where it is new or gone.
    package var request: Changes
    package var response: Changes

    package var isShape: Bool { old == nil || new == nil || !request.shape.isEmpty || !response.shape.isEmpty }
  }

  /// Gone and changed ones in the order of the old cassette, then new ones in that of the new.
  package private(set) var entries: [Entry] = []

  /// - Throws: what reading a body throws.
  package init(old: Recording, new: Recording) throws {
    let known = try KnownShapes(old)
    let partners = try Self.pairs(old, new)
    for index in old.interactions.indices {
      guard let other = partners[index] else {
        let request = old.interactions[index].request
        entries.append(
          Entry(old: index, new: nil, method: request.method, url: request.url, request: .init(), response: .init()))
        continue
      }
      let request = new.interactions[other].request
      let entry = Entry(
        old: index, new: other, method: request.method, url: request.url,
        request: try Self.requestChanges(old, index, new, other),
        response: try old.answer(index).changes(
          to: try new.answer(other), method: request.method, known: known.shape(of: index)))
      if !entry.request.isEmpty || !entry.response.isEmpty { entries.append(entry) }
    }
    let taken = Set(partners.values)
    for index in new.interactions.indices where !taken.contains(index) {
      let request = new.interactions[index].request
      entries.append(
        Entry(old: nil, new: index, method: request.method, url: request.url, request: .init(), response: .init()))
    }
  }

  /// The new interaction of each old one that has one.
  private static func pairs(_ old: Recording, _ new: Recording) throws -> [Int: Int] {
    var numbers: [String: Int] = [:]
    for backend in old.backends + new.backends where numbers[backend] == nil { numbers[backend] = numbers.count }
    var partners: [Int: Int] = [:]
    var left = Array(old.interactions.indices)
    var right = Array(new.interactions.indices)
    func pair<Key: Hashable>(_ oldKey: (Int) -> Key, _ newKey: (Int) -> Key) {
      var waiting: [Key: [Int]] = [:]
      for index in right.reversed() { waiting[newKey(index), default: []].append(index) }
      for index in left { partners[index] = waiting[oldKey(index)]?.popLast() }
      left = left.filter { partners[$0] == nil }
      let taken = Set(partners.values)
      right = right.filter { !taken.contains($0) }
    }
    let oldKeys = try old.keys(numbers)
    let newKeys = try new.keys(numbers)
    pair({ oldKeys[$0] }, { newKeys[$0] })
    pair({ Self.path(old, $0) }, { Self.path(new, $0) })
    pair(old.kind, new.kind)
    return partners
  }

  private static func path(_ recording: Recording, _ index: Int) -> String {
    "\(recording.interactions[index].request.method) \(recording.backends[index]) \(recording.url(index).path)"
  }

  private static func requestChanges(_ old: Recording, _ index: Int, _ new: Recording, _ other: Int) throws -> Changes {
    var changes = Changes()
    let was = old.url(index)
    let now = new.url(other)
    if was.path != now.path {
      changes += Changes(values: [Change(.value, "path", was: "`\(was.path)`", now: "`\(now.path)`")])
    }
    changes += query(was.query, now.query)
    let oldType = old.interactions[index].request.headers["Content-Type"]
    let newType = new.interactions[other].request.headers["Content-Type"]
    let essences = (MediaType(oldType).essence, MediaType(newType).essence)
    guard essences.0 == essences.1 else {
      func title(_ essence: String) -> String { essence.isEmpty ? "none" : essence }
      changes += Changes(
        shape: [Change(.contentType, "content type", was: title(essences.0), now: title(essences.1))])
      return changes
    }
    changes += BodyComparison.changes(
      recorded: BodySide(try old.requestBody(index), contentType: oldType),
      live: BodySide(try new.requestBody(other), contentType: newType), known: nil)
    return changes
  }

  /// Items of a query by name: one gone or new is shape, another value is none.
  private static func query(_ was: Substring?, _ now: Substring?) -> Changes {
    func items(_ text: Substring?) -> JSON {
      Array((text ?? "").utf8).withUnsafeBytes { QueryItems($0).json }
    }
    let old = items(was)
    let new = items(now)
    let comparison = ShapeComparison(recorded: JSONShape(old), live: JSONShape(new))
    let values = ValueComparison(recorded: old, live: new, besides: comparison)
    func named(_ change: Change) -> Change {
      Change(change.kind, "query item `\(change.place.dropFirst(2))`", was: change.was, now: change.now)
    }
    return Changes(
      shape: comparison.changes.map(named), values: values.changes.map(named), valueCount: values.count)
  }
}
