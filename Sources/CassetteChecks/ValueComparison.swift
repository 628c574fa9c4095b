import Basics
import Cassettes
import LaunchContract

/// Compares the values of two JSON documents at places where their shapes agree.
struct ValueComparison {
  /// The first changes, at most ``Changes/most``.
  private(set) var changes: [Change] = []
  /// The number of all changes.
  private(set) var count = 0

  private struct Pair {
    let recorded: JSON?
    let live: JSON?
    /// The path with indices and ids.
    let place: String
    /// The path in the notation of shape changes.
    let pattern: String
  }

  /// The values still to be compared, next one last. A stack instead of recursion, which deep values could exhaust.
  private var pairs: [Pair]
  private let maps: Set<String>

  /// - Parameters:
  ///   - recorded: the recorded value.
  ///   - live: the other value.
  ///   - shape: the shape changes; their places are not compared.
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

  /// An inserted or removed element shifts those after it, so equal elements at both ends are skipped.
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
