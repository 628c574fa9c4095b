import LaunchContract

/// Where two bodies are not the same, in the terms of what they are.
enum BodyDifferences {
  /// A body, or a part of one; nil where it does not count.
  ///
  /// - Parameters:
  ///   - recorded: the recorded one.
  ///   - actual: that of the request.
  ///   - place: what it is called.
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
      return recorded.differences(from: actual, kind: .body, noun: noun)
    case (.multipart(let recorded), .multipart(let actual)): return parts(recorded.parts, actual.parts)
    case (.xml(let recorded), .xml(let actual)):
      return XMLDifferences(recorded: recorded.events, actual: actual.events, at: place).differences
    default: break
    }
    if let recorded = recorded.plainBytes, let actual = actual.plainBytes {
      return recorded.withUnsafeBytes { recorded in
        actual.withUnsafeBytes { between(recorded, $0, at: place) }
      }
    }
    return [
      Difference(.body, place, recorded: recorded.told(beside: actual), actual: actual.told(beside: recorded))
    ]
  }

  /// Part by part, in order.
  private static func parts(_ recorded: [Multipart.Part], _ actual: [Multipart.Part]) -> [Difference] {
    var differences: [Difference] = []
    for number in 0..<max(recorded.count, actual.count) {
      let left = number < recorded.count ? recorded[number] : nil
      let right = number < actual.count ? actual[number] : nil
      let name = Preview.shortened((left ?? right)?.name ?? "", to: Preview.usual)
      let place = "part \(number + 1)" + (name.isEmpty ? "" : " `\(name.escapedForTerminal)`")
      guard let left, let right else {
        differences.append(
          Difference(.body, place, recorded: left?.content.preview, actual: right?.content.preview))
        continue
      }
      for (what, one, other) in [
        ("name", left.name, right.name), ("file name", left.fileName, right.fileName),
        ("content type", left.type, right.type),
      ] where one != other {
        differences.append(Difference(.body, "\(place) \(what)", recorded: one, actual: other))
      }
      differences += between(left.content, right.content, at: place)
    }
    return differences
  }

  /// Where they part: of texts what stands there, of others the byte, and the lengths where they differ.
  private static func between(
    _ recorded: UnsafeRawBufferPointer, _ actual: UnsafeRawBufferPointer, at place: String
  ) -> [Difference] {
    let shorter = min(recorded.count, actual.count)
    let index = (0..<shorter).first { recorded[$0] != actual[$0] } ?? shorter
    if recorded.count != actual.count || index < shorter, let left = Preview.text(recorded, around: index),
      let right = Preview.text(actual, around: index)
    {
      let isShort = max(recorded.count, actual.count) <= Preview.excerpt
      return [Difference(.body, isShort ? place : "\(place) byte \(index)", recorded: left, actual: right)]
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

  /// What is compared byte by byte.
  fileprivate var plainBytes: [UInt8]? {
    switch self {
    case .bytes(let bytes): Array(bytes)
    case .kept(let bytes): bytes
    default: nil
    }
  }

  /// What it is beside something of another kind, and its beginning.
  fileprivate func told(beside other: BodyContent) -> String {
    guard let kind else {
      // Else a broken `<r>` would look the same as an XML document of that root.
      return other.kind.map { "\(preview), which is not read as \($0)" } ?? preview
    }
    if case .multipart = self { return "the \(kind) of \(preview)" }
    return "the \(kind) \(preview)"
  }

  private var kind: String? {
    switch self {
    case .bytes, .kept: nil
    case .json: "JSON"
    case .form: "form"
    case .multipart: "multipart"
    case .xml: "XML"
    }
  }

  /// Its beginning, or what there is of it, in a sentence.
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
        let title = Preview.shortened(Self.string(name), to: Preview.usual).escapedForTerminal
        let place = isRepeated ? " number \(number + 1)" : ""
        differences.append(
          Difference(kind, "\(noun) `\(title)`\(place)", recorded: one.map(Self.text), actual: other.map(Self.text)))
      }
    }
    return differences
  }

  /// As a person would write them.
  fileprivate var written: String {
    items.map { item in
      Self.string(Array(text[item.name])) + (item.value.map { "=" + Self.string(Array(text[$0])) } ?? "")
    }.joined(separator: "&")
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
