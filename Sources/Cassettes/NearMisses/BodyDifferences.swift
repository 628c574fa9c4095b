import Basics
import LaunchContract

/// Finds the differences between two bodies by their kind.
enum BodyDifferences {
  /// Compares two bodies or parts of bodies; nil if they do not count.
  ///
  /// - Parameters:
  ///   - recorded: the recorded body.
  ///   - actual: the request's body.
  ///   - place: its name in descriptions.
  /// - Returns: the differences.
  static func between(_ recorded: BodyContent?, _ actual: BodyContent?, at place: String = "body") -> [Difference] {
    guard let recorded, let actual else { return [] }
    switch (recorded.isEmpty, actual.isEmpty) {
    case (true, true): return []
    case (false, true): return [Difference(.body, place, recorded: recorded.preview, actual: nil)]
    case (true, false): return [Difference(.body, place, recorded: nil, actual: actual.preview)]
    case (false, false): break
    }
    switch (recorded, actual) {
    case (.json(let recorded), .json(let actual)):
      return JSONDifferences(recorded: recorded, actual: actual, at: place).differences
    case (.form(let recorded), .form(let actual)):
      let noun = place == "body" ? "form item" : "\(place) form item"
      return recorded.differences(from: actual, kind: .body, noun: noun) { .form($0) }
    case (.multipart(let recorded), .multipart(let actual)): return parts(recorded, actual)
    case (.xml(let recorded), .xml(let actual)):
      return XMLDifferences(recorded: recorded.events, actual: actual.events, at: place).differences
    case (.messages(let recorded), .messages(let actual)): return messages(recorded, actual, at: place)
    default: break
    }
    if let recorded = recorded.plainBytes, let actual = actual.plainBytes {
      return recorded.withUnsafeBytes { recorded in
        actual.withUnsafeBytes { between(recorded, $0, at: place) }
      }
    }
    return [
      Difference(.body, place, recorded: recorded.described(beside: actual), actual: actual.described(beside: recorded))
    ]
  }

  /// Compares the messages of two gRPC bodies one by one.
  private static func messages(_ recorded: [BodyContent], _ actual: [BodyContent], at place: String) -> [Difference] {
    let count = max(recorded.count, actual.count)
    return (0..<count).flatMap { number in
      let one = number < recorded.count ? recorded[number] : nil
      let other = number < actual.count ? actual[number] : nil
      let place = count > 1 ? "message \(number + 1)" : place
      guard let one, let other else {
        return [Difference(.body, place, recorded: one?.preview, actual: other?.preview)]
      }
      return between(one, other, at: place)
    }
  }

  /// Compares multipart bodies part by part: by place, or by name if their order does not count.
  private static func parts(_ recorded: Multipart, _ actual: Multipart) -> [Difference] {
    guard !recorded.isOrdered else {
      return (0..<max(recorded.parts.count, actual.parts.count)).flatMap { number in
        let left = number < recorded.parts.count ? recorded.parts[number] : nil
        let right = number < actual.parts.count ? actual.parts[number] : nil
        return between(left, right, at: "part \(number + 1)" + named(left ?? right))
      }
    }
    let left = Dictionary(grouping: recorded.parts) { $0.name ?? "" }
    let right = Dictionary(grouping: actual.parts) { $0.name ?? "" }
    return Set(left.keys).union(right.keys).sorted().flatMap { name in
      let (left, right) = (left[name] ?? [], right[name] ?? [])
      let place = "part" + named(left.first ?? right.first)
      let count = max(left.count, right.count)
      return (0..<count).flatMap { number in
        let one = number < left.count ? left[number] : nil
        let other = number < right.count ? right[number] : nil
        return between(one, other, at: count > 1 ? "\(place) number \(number + 1)" : place)
      }
    }
  }

  private static func named(_ part: Multipart.Part?) -> String {
    let name = Preview.shortened(part?.name ?? "", to: Preview.usual)
    return name.isEmpty ? "" : " `\(name.escapedForTerminal)`"
  }

  private static func between(_ left: Multipart.Part?, _ right: Multipart.Part?, at place: String) -> [Difference] {
    guard let left, let right else {
      return [Difference(.body, place, recorded: left?.content.preview, actual: right?.content.preview)]
    }
    var differences: [Difference] = []
    for (what, one, other) in [
      ("name", left.name, right.name), ("file name", left.fileName, right.fileName),
      ("content type", left.type, right.type),
    ] where one != other {
      differences.append(Difference(.body, "\(place) \(what)", recorded: one, actual: other))
    }
    return differences
      + between(left.content, right.content, at: place).map { difference in
        guard difference.place == .text else { return difference }
        // A rule can ignore the part, but not something in it.
        guard let name = left.name, !name.isEmpty, let one = left.content.text, let other = right.content.text else {
          return difference.located(at: nil, ("", ""))
        }
        return difference.located(at: .form(name), (one, other))
      }
  }

  /// Describes the first difference: an excerpt of texts, or the byte and the lengths of binary data.
  private static func between(
    _ recorded: UnsafeRawBufferPointer, _ actual: UnsafeRawBufferPointer, at place: String
  ) -> [Difference] {
    let shorter = min(recorded.count, actual.count)
    let index = (0..<shorter).first { recorded[$0] != actual[$0] } ?? shorter
    if recorded.count != actual.count || index < shorter, let left = Preview.text(recorded, around: index),
      let right = Preview.text(actual, around: index)
    {
      let isShort = max(recorded.count, actual.count) <= Preview.excerpt
      return [
        Difference(.body, isShort ? place : "\(place) byte \(index)", recorded: left, actual: right, place: .text)
      ]
    }
    var differences: [Difference] = []
    if index < shorter {
      differences.append(
        Difference(
          .body, "\(place) byte \(index)", recorded: Preview.byte(recorded[index]), actual: Preview.byte(actual[index]))
      )
    }
    if recorded.count != actual.count {
      differences.append(
        Difference(
          .body, "\(place) length", recorded: Preview.bytes(recorded.count), actual: Preview.bytes(actual.count)))
    }
    return differences
  }
}

extension BodyContent {
  fileprivate var isEmpty: Bool { plainBytes?.isEmpty ?? false }

  /// The text if it is compared byte by byte.
  fileprivate var text: String? { plainBytes.flatMap { String(validating: $0, as: UTF8.self) } }

  /// The bytes if it is compared byte by byte.
  fileprivate var plainBytes: [UInt8]? {
    switch self {
    case .bytes(let bytes): Array(bytes)
    case .kept(let bytes): bytes
    default: nil
    }
  }

  /// A description beside content of another kind.
  fileprivate func described(beside other: BodyContent) -> String {
    guard let kind else {
      // Otherwise a broken `<r>` would look the same as an XML document with that root.
      return other.kind.map { "\(preview), which is not valid \($0)" } ?? preview
    }
    if case .multipart = self { return "\(kind) with \(preview)" }
    return "\(kind) \(preview)"
  }

  private var kind: String? {
    switch self {
    case .bytes, .kept: nil
    case .json: "JSON"
    case .form: "form data"
    case .multipart: "multipart data"
    case .xml: "XML"
    case .messages: "gRPC"
    }
  }

  /// A short form for descriptions.
  fileprivate var preview: String {
    switch self {
    case .bytes(let bytes): return Preview.body(bytes)
    case .kept(let bytes): return bytes.withUnsafeBytes { Preview.body($0) }
    case .json(let value): return value.encoded().withUnsafeBytes { Preview.body($0) }
    case .form(let items): return Array(items.written.utf8).withUnsafeBytes { Preview.body($0) }
    case .multipart(let multipart):
      return multipart.parts.count == 1 ? "1 part" : "\(multipart.parts.count) parts"
    case .xml(let content):
      guard case .start(let name, _) = content.events.first else { return "" }
      return "`<\(XMLDifferences.local(name))>`"
    case .messages(let messages):
      return messages.count == 1 ? messages[0].preview : "\(messages.count) messages"
    }
  }
}

extension QueryItems {
  /// Compares two queries or forms by name.
  ///
  /// - Parameters:
  ///   - actual: the items of the request; self has the recorded ones.
  ///   - kind: the kind of the differences.
  ///   - noun: the name of an item in descriptions.
  ///   - place: the place of the item with a name.
  /// - Returns: the differences, sorted by name.
  func differences(
    from actual: QueryItems, kind: Difference.Kind, noun: String, place: (String) -> Difference.Place
  ) -> [Difference] {
    let recorded = groups
    let actual = actual.groups
    let names = Set(recorded.keys).union(actual.keys).sorted { $0.lexicographicallyPrecedes($1) }
    var differences: [Difference] = []
    for name in names {
      let left = recorded[name] ?? []
      let right = actual[name] ?? []
      let isRepeated = max(left.count, right.count) > 1
      for number in 0..<max(left.count, right.count) {
        // The outer optional is a missing item, the inner one a missing value.
        let one: [UInt8]?? = number < left.count ? .some(left[number]) : .none
        let other: [UInt8]?? = number < right.count ? .some(right[number]) : .none
        guard one != other else { continue }
        let title = Preview.shortened(Self.string(name), to: Preview.usual).escapedForTerminal
        let suffix = isRepeated ? " number \(number + 1)" : ""
        differences.append(
          Difference(
            kind, "\(noun) `\(title)`\(suffix)", recorded: one.map(Self.text), actual: other.map(Self.text),
            place: String(validating: name, as: UTF8.self).map(place)))
      }
    }
    return differences
  }

  /// The items as readable text.
  fileprivate var written: String {
    items.map { item in
      Self.string(Array(text[item.name])) + (item.value.map { "=" + Self.string(Array(text[$0])) } ?? "")
    }.joined(separator: "&")
  }

  /// The values of each name in order; nil for an item without `=`.
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

/// Finds the differences between two JSON values by path.
struct JSONDifferences {
  /// The maximum number of differences to report.
  private static let most = 50

  private(set) var differences: [Difference] = []
  /// The pairs still to compare, the next one last. An explicit stack replaces recursion because some threads have
  /// small stacks.
  private var pairs: [Pair] = []

  /// Two values at the same path; nil if one side has none.
  private struct Pair {
    let recorded: JSON?
    let actual: JSON?
    let path: [JSONPath.Child]
  }

  /// The name of the whole value in descriptions.
  private let place: String

  /// Compares like matching: members in any order, numbers by value.
  init(recorded: JSON, actual: JSON, at place: String = "body") {
    self.place = place
    pairs = [Pair(recorded: recorded, actual: actual, path: [])]
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

  private func members(_ recorded: [JSON.Member], _ actual: [JSON.Member], at path: [JSONPath.Child]) -> [Pair] {
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
          path: path + [.name(name)]))
      if isLeft { left += 1 }
      if isRight { right += 1 }
    }
    return pairs
  }

  private func precedes(_ left: JSON.Member, _ right: JSON.Member) -> Bool {
    left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
  }

  /// Skips equal elements at both ends: an inserted or removed element shifts those after it.
  private func elements(_ recorded: [JSON], _ actual: [JSON], at path: [JSONPath.Child]) -> [Pair] {
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
        actual: index < actual.count - end ? actual[index] : nil, path: path + [.index(index, of: nil)])
    }
  }

  private mutating func add(_ pair: Pair) {
    let path = pair.path.reduce(into: "$") { text, step in
      switch step {
      case .name(let name): text += Self.step(to: name)
      case .index(let index, _): text += "[\(index)]"
      }
    }
    var plain: (recorded: String, actual: String)?
    if let one = Self.scalar(pair.recorded), let other = Self.scalar(pair.actual) { plain = (one, other) }
    differences.append(
      Difference(
        .body, "\(place) \(path)", recorded: pair.recorded.map(Self.text), actual: pair.actual.map(Self.text),
        place: plain == nil ? nil : .json(pair.path), plain: plain))
  }

  /// The text of a string or number.
  private static func scalar(_ value: JSON?) -> String? {
    switch value {
    case .string(let text), .number(let text): text
    default: nil
    }
  }

  private static func text(_ value: JSON) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }

  /// `.name`, or `["a name"]` if it is not a word.
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

/// Finds the differences between two XML documents by path.
struct XMLDifferences {
  /// The maximum number of differences to report.
  private static let most = 50

  private(set) var differences: [Difference] = []
  private var path: [String] = []

  /// Walks both documents in parallel and stops where their elements differ.
  init(recorded: [XMLContent.Event], actual: [XMLContent.Event], at place: String) {
    var left = 0
    var right = 0
    while left < recorded.count, right < actual.count, differences.count < Self.most {
      let here = "\(place) /" + path.joined(separator: "/")
      switch (recorded[left], actual[right]) {
      case (.start(let name, let attributes), .start(let other, let others)) where name == other:
        path.append(Self.local(name))
        compare(attributes, others, at: "\(place) /" + path.joined(separator: "/"))
      case (.end, .end): path.removeLast()
      case (.text(let text), .text(let other)):
        if text != other {
          differences.append(Difference(.body, here, recorded: text, actual: other, place: .text))
        }
      case (.text(let text), .end), (.text(let text), .start):
        differences.append(Difference(.body, here, recorded: text, actual: nil))
        right -= 1
      case (.end, .text(let text)), (.start, .text(let text)):
        differences.append(Difference(.body, here, recorded: nil, actual: text))
        left -= 1
      case (let one, let other):
        differences.append(Difference(.body, here, recorded: Self.tag(one), actual: Self.tag(other)))
        return
      }
      left += 1
      right += 1
    }
  }

  private mutating func compare(
    _ recorded: [XMLContent.Attribute], _ actual: [XMLContent.Attribute], at place: String
  ) {
    for name in Set((recorded + actual).map(\.name)).sorted() {
      let one = recorded.first { $0.name == name }?.value
      let other = actual.first { $0.name == name }?.value
      if one != other {
        differences.append(
          Difference(.body, "\(place)/@\(Self.local(name))", recorded: one, actual: other, place: .text))
      }
    }
  }

  /// The tag with its namespace, which may be the only difference.
  private static func tag(_ event: XMLContent.Event) -> String? {
    if case .start(let name, _) = event { "<\(name)>" } else { nil }
  }

  /// A name without its namespace.
  static func local(_ name: String) -> String {
    name.lastIndex(of: "}").map { String(name[name.index(after: $0)...]) } ?? name
  }
}
