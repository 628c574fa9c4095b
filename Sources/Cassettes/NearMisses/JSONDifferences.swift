import LaunchContract

/// Where two JSON values are not the same, by path.
struct JSONDifferences {
  /// More than that do not help anyone.
  private static let most = 50

  private(set) var differences: [Difference] = []
  /// What is still to be compared, the next at the end; a stack stands in for recursion, for which some threads have
  /// no room.
  private var pairs: [Pair] = []

  /// Two values in the same place; nil where one side has none.
  private struct Pair {
    let recorded: JSON?
    let actual: JSON?
    let path: String
  }

  /// What the value is called.
  private let place: String

  /// Compares as matching does: members in any order, numbers by value.
  init(recorded: JSON, actual: JSON, at place: String = "body") {
    self.place = place
    pairs = [Pair(recorded: recorded, actual: actual, path: "$")]
    while let pair = pairs.popLast(), differences.count < Self.most {
      guard let recorded = pair.recorded, let actual = pair.actual else {
        add(pair)
        continue
      }
      switch (recorded, actual) {
      case (.object(let recorded), .object(let actual)): pairs += members(recorded, actual, at: pair.path).reversed()
      case (.array(let recorded), .array(let actual)): pairs += elements(recorded, actual, at: pair.path).reversed()
      default:
        if !CanonicalJSON.areSame(recorded, actual) { add(pair) }
      }
    }
  }

  private func members(_ recorded: [JSON.Member], _ actual: [JSON.Member], at path: String) -> [Pair] {
    let recorded = CanonicalJSON.sorted(recorded)
    let actual = CanonicalJSON.sorted(actual)
    var pairs: [Pair] = []
    var left = 0
    var right = 0
    while left < recorded.count || right < actual.count {
      let isLeft = right == actual.count || left < recorded.count && !precedes(actual[right], recorded[left])
      let isRight = left == recorded.count || right < actual.count && !precedes(recorded[left], actual[right])
      let name = isLeft ? recorded[left].key : actual[right].key
      pairs.append(
        Pair(
          recorded: isLeft ? recorded[left].value : nil, actual: isRight ? actual[right].value : nil,
          path: path + Self.step(to: name)))
      if isLeft { left += 1 }
      if isRight { right += 1 }
    }
    return pairs
  }

  private func precedes(_ left: JSON.Member, _ right: JSON.Member) -> Bool {
    left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
  }

  /// An element put in or left out shifts those after it: what is the same at both ends is no difference.
  private func elements(_ recorded: [JSON], _ actual: [JSON], at path: String) -> [Pair] {
    let shorter = min(recorded.count, actual.count)
    var start = 0
    while start < shorter, CanonicalJSON.areSame(recorded[start], actual[start]) { start += 1 }
    var end = 0
    while end < shorter - start,
      CanonicalJSON.areSame(recorded[recorded.count - 1 - end], actual[actual.count - 1 - end])
    {
      end += 1
    }
    let last = max(recorded.count, actual.count) - end
    return (start..<min(last, start + Self.most)).map { index in
      Pair(
        recorded: index < recorded.count - end ? recorded[index] : nil,
        actual: index < actual.count - end ? actual[index] : nil, path: "\(path)[\(index)]")
    }
  }

  private mutating func add(_ pair: Pair) {
    differences.append(
      Difference(
        .body, "\(place) \(pair.path)", recorded: pair.recorded.map(Self.text), actual: pair.actual.map(Self.text)))
  }

  private static func text(_ value: JSON) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }

  /// `.name`, or `["a name"]` where it is not a word.
  private static func step(to name: String) -> String {
    let isWord =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
    return isWord ? "." + name : "[\(text(.string(Preview.shortened(name, to: Preview.usual))))]"
  }
}
