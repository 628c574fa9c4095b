import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// The difference between two cassettes: interactions removed, added and changed.
///
/// Interactions are paired if their requests count as the same; repeated requests are paired in order. The rest are
/// paired by method and path, and then by paths that differ only in ids. The requests of these pairs changed.
package struct CassetteDiff {
  /// One interaction that changed.
  package struct Entry: Sendable {
    /// Its index in the old cassette; nil if it was added.
    package var old: Int?
    /// Its index in the new cassette; nil if it was removed.
    package var new: Int?
    /// The method and URL in the new cassette, or in the old one if it was removed.
    package var method: String
    package var url: String
    /// Empty if the interaction was added or removed.
    package var request: Changes
    package var response: Changes

    package var isShape: Bool { old == nil || new == nil || !request.shape.isEmpty || !response.shape.isEmpty }
  }

  /// Removed and changed interactions in the order of the old cassette, then added ones in the order of the new one.
  package private(set) var entries: [Entry] = []

  /// - Throws: errors from reading a body.
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

  /// For each old interaction, the new one it is paired with.
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

  /// Compares query items by name. Added and removed items are shape changes; changed values are not.
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
