/// The decoded items of a query or form (`application/x-www-form-urlencoded`), sorted by name; items with the same
/// name keep their order.
package struct QueryItems {
  /// A name and the value after `=`.
  package struct Item {
    package let name: Range<Int>
    /// Nil without `=`.
    package let value: Range<Int>?
  }

  /// The decoded bytes of all names and values.
  package let text: [UInt8]
  package let items: [Item]

  /// Parses a form, or a query without the `?`.
  package init(_ query: UnsafeRawBufferPointer) {
    var text: [UInt8] = []
    text.reserveCapacity(query.count)
    var items: [Item] = []
    var start = 0
    while start < query.count {
      let end = query[start...].firstIndex(of: UInt8(ascii: "&")) ?? query.count
      if end > start {
        let equals = query[start..<end].firstIndex(of: UInt8(ascii: "="))
        let name = Self.decode(query, start..<(equals ?? end), into: &text)
        let value = equals.map { Self.decode(query, ($0 + 1)..<end, into: &text) }
        items.append(Item(name: name, value: value))
      }
      start = end + 1
    }
    if items.count > 1 {
      // Swift's sort is stable.
      items.sort { text[$0.name].lexicographicallyPrecedes(text[$1.name]) }
    }
    self.text = text
    self.items = items
  }

  /// - Parameters:
  ///   - text: the bytes of all names and values.
  ///   - items: sorted by name.
  private init(text: [UInt8], items: [Item]) {
    self.text = text
    self.items = items
  }

  /// Removes the items with certain names, and what patterns match in values.
  func without(
    _ names: [Glob], _ patterns: [Pattern], _ budget: PatternBudget
  ) throws(Pattern.TooSlow) -> QueryItems {
    guard !names.isEmpty || !patterns.isEmpty else { return self }
    var kept: [Item] = []
    var changed: [UInt8] = []
    for item in items where !names.contains(where: { $0.matches(text[item.name]) }) {
      let name = changed.count..<(changed.count + item.name.count)
      changed += text[item.name]
      var value: Range<Int>?
      if let range = item.value {
        let start = changed.count
        changed += try patterns.removed(from: text[range], budget) ?? Array(text[range])
        value = start..<changed.count
      }
      kept.append(Item(name: name, value: value))
    }
    return QueryItems(text: changed, items: kept)
  }

  private static func decode(
    _ query: UnsafeRawBufferPointer, _ range: Range<Int>, into text: inout [UInt8]
  ) -> Range<Int> {
    let start = text.count
    var index = range.lowerBound
    while index < range.upperBound {
      if index + 2 < range.upperBound, let escaped = PercentCoding.byte(at: index, in: query) {
        text.append(escaped)
        index += 3
      } else {
        text.append(query[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : query[index])
        index += 1
      }
    }
    return start..<text.count
  }

  /// Adds the items of a query and their number to a hash, without memory for a single item in plain spelling.
  static func append(_ query: UnsafeRawBufferPointer, to hash: inout SipHash) {
    var equals: Int?
    for index in query.indices {
      switch query[index] {
      case UInt8(ascii: "&"), UInt8(ascii: "%"), UInt8(ascii: "+"): return QueryItems(query).append(to: &hash)
      case UInt8(ascii: "=") where equals == nil: equals = index
      default: break
      }
    }
    hash.append(UnsafeRawBufferPointer(rebasing: query[..<(equals ?? query.count)]))
    hash.append(number: equals ?? query.count)
    if let equals {
      hash.append(UnsafeRawBufferPointer(rebasing: query[(equals + 1)...]))
      hash.append(number: query.count - equals - 1)
    }
    hash.append(equals == nil ? 0 : 1)
    hash.append(number: 1)
  }

  /// Adds all items and their number to a hash.
  func append(to hash: inout SipHash) {
    text.withUnsafeBytes { text in
      for item in items {
        hash.append(UnsafeRawBufferPointer(rebasing: text[item.name]))
        hash.append(number: item.name.count)
        if let value = item.value {
          hash.append(UnsafeRawBufferPointer(rebasing: text[value]))
          hash.append(number: value.count)
        }
        hash.append(item.value == nil ? 0 : 1)
      }
    }
    hash.append(number: items.count)
  }
}
