import LaunchContract

/// Where two bodies are not the same, in the terms of what they are.
enum BodyDifferences {
  /// A body and its `Content-Type`; good as long as their memory.
  struct Side {
    let bytes: UnsafeRawBufferPointer
    let type: UnsafeRawBufferPointer?
  }

  static func between(_ recorded: Side, _ actual: Side) -> [Difference] {
    switch (recorded.bytes.isEmpty, actual.bytes.isEmpty) {
    case (true, true): return []
    case (false, true): return [whole(Preview.body(recorded.bytes), nil)]
    case (true, false): return [whole(nil, Preview.body(actual.bytes))]
    case (false, false): break
    }
    let left = BodyContent(recorded.bytes, contentType: recorded.type)
    let right = BodyContent(actual.bytes, contentType: actual.type)
    switch (left, right) {
    case (.json(let recorded), .json(let actual)):
      return JSONDifferences(recorded: recorded, actual: actual).differences
    case (.form(let recorded), .form(let actual)):
      return recorded.differences(from: actual, kind: .body, noun: "form item")
    case (.bytes(let recorded), .bytes(let actual)): return between(recorded, actual)
    default: return [whole(left.title + Preview.body(recorded.bytes), right.title + Preview.body(actual.bytes))]
    }
  }

  private static func whole(_ recorded: String?, _ actual: String?) -> Difference {
    Difference(.body, "body", recorded: recorded, actual: actual)
  }

  /// The first byte that differs, and the lengths where they do.
  private static func between(_ recorded: UnsafeRawBufferPointer, _ actual: UnsafeRawBufferPointer) -> [Difference] {
    let shorter = min(recorded.count, actual.count)
    var differences: [Difference] = []
    if let index = (0..<shorter).first(where: { recorded[$0] != actual[$0] }) {
      differences.append(
        Difference(
          .body, "body byte \(index)", recorded: Preview.byte(recorded[index]), actual: Preview.byte(actual[index])))
    }
    if recorded.count != actual.count {
      differences.append(
        Difference(.body, "body length", recorded: "\(recorded.count) bytes", actual: "\(actual.count) bytes"))
    }
    return differences
  }
}

extension BodyContent {
  /// What it is, before its beginning.
  fileprivate var title: String {
    switch self {
    case .bytes: ""
    case .json: "the JSON "
    case .form: "the form "
    }
  }
}

extension QueryItems {
  /// Where two queries or forms are not the same, by name.
  ///
  /// - Parameters:
  ///   - actual: those of the request; self are the recorded ones.
  ///   - kind: of the differences.
  ///   - noun: what an item is called.
  /// - Returns: the differences in the order of the names.
  func differences(from actual: QueryItems, kind: Difference.Kind, noun: String) -> [Difference] {
    let recorded = groups
    let actual = actual.groups
    let names = Set(recorded.keys).union(actual.keys).sorted { $0.lexicographicallyPrecedes($1) }
    var differences: [Difference] = []
    for name in names {
      let left = recorded[name] ?? []
      let right = actual[name] ?? []
      let isRepeated = max(left.count, right.count) > 1
      for number in 0..<max(left.count, right.count) {
        // No item at all, and one without a value.
        let one: [UInt8]?? = number < left.count ? .some(left[number]) : .none
        let other: [UInt8]?? = number < right.count ? .some(right[number]) : .none
        guard one != other else { continue }
        let title = Preview.oneLine(Preview.shortened(Self.string(name), to: Preview.usual))
        let place = isRepeated ? " number \(number + 1)" : ""
        differences.append(
          Difference(kind, "\(noun) `\(title)`\(place)", recorded: one.map(Self.text), actual: other.map(Self.text)))
      }
    }
    return differences
  }

  /// The values of each name, in order; nil for an item without `=`.
  private var groups: [[UInt8]: [[UInt8]?]] {
    var groups: [[UInt8]: [[UInt8]?]] = [:]
    for item in items {
      groups[Array(text[item.name]), default: []].append(item.value.map { Array(text[$0]) })
    }
    return groups
  }

  private static func text(_ value: [UInt8]?) -> String {
    value.map(string) ?? "(no value)"
  }

  private static func string(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
