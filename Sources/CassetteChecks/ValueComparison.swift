import Cassettes
import LaunchContract

/// In which values two JSON values differ, where their shape is the same.
struct ValueComparison {
  /// The first ``Changes/most``.
  private(set) var changes: [Change] = []
  /// All of them.
  private(set) var count = 0

  private struct Pair {
    let recorded: JSON?
    let live: JSON?
    /// With indices and ids.
    let place: String
    /// As changes of shape name it.
    let pattern: String
  }

  /// What is still to be compared, the next at the end; a stack stands in for recursion.
  private var pairs: [Pair]
  private let maps: Set<String>

  /// - Parameters:
  ///   - recorded: what was there.
  ///   - live: what is there.
  ///   - shape: the changes of shape, whose places are left out.
  init(recorded: JSON, live: JSON, besides shape: ShapeComparison) {
    maps = shape.maps
    pairs = [Pair(recorded: recorded, live: live, place: "$", pattern: "$")]
    let told = Set(shape.changes.map(\.place))
    while let pair = pairs.popLast() {
      guard !told.contains(pair.pattern) else { continue }
      switch (pair.recorded, pair.live) {
      case (.object(let recorded)?, .object(let live)?): pairs += members(recorded, live, of: pair).reversed()
      case (.array(let recorded)?, .array(let live)?): pairs += elements(recorded, live, of: pair).reversed()
      case (let recorded?, let live?):
        if !CanonicalJSON.areSame(recorded, live) { add(pair) }
      default: add(pair)
      }
    }
  }

  private func members(_ recorded: [JSON.Member], _ live: [JSON.Member], of pair: Pair) -> [Pair] {
    let old = Dictionary(recorded.map { ($0.key, $0.value) }) { _, last in last }
    let new = Dictionary(live.map { ($0.key, $0.value) }) { _, last in last }
    let isMap = maps.contains(pair.pattern)
    return Set(old.keys).union(new.keys).sorted().map { name in
      let step = JSONStep.text(name)
      return Pair(
        recorded: old[name], live: new[name], place: pair.place + step,
        pattern: pair.pattern + (isMap || ChangingName.matches(name) ? ".*" : step))
    }
  }

  /// An element put in or left out shifts those after it: what is the same at both ends is no difference.
  private func elements(_ recorded: [JSON], _ live: [JSON], of pair: Pair) -> [Pair] {
    let shorter = min(recorded.count, live.count)
    var start = 0
    while start < shorter, CanonicalJSON.areSame(recorded[start], live[start]) { start += 1 }
    var end = 0
    while end < shorter - start,
      CanonicalJSON.areSame(recorded[recorded.count - 1 - end], live[live.count - 1 - end])
    {
      end += 1
    }
    return (start..<max(recorded.count, live.count) - end).map { index in
      Pair(
        recorded: index < recorded.count - end ? recorded[index] : nil,
        live: index < live.count - end ? live[index] : nil, place: "\(pair.place)[\(index)]",
        pattern: pair.pattern + "[]")
    }
  }

  private mutating func add(_ pair: Pair) {
    count += 1
    guard changes.count < Changes.most else { return }
    changes.append(Change(.value, pair.place, was: pair.recorded.map(Self.text), now: pair.live.map(Self.text)))
  }

  private static func text(_ value: JSON) -> String {
    Preview.shortened(String(decoding: value.encoded(), as: UTF8.self), to: Preview.usual)
  }
}
