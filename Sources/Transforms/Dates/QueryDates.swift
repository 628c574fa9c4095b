import Cassettes

/// Moves declared query items in URLs anywhere in a text: `?since=1538989200` and `&since=…`, also `&amp;since=…` as in
/// HTML and XML, and `\u0026since=…` as in JSON.
///
/// When the app follows such a link, the date in its request is moved back.
struct QueryDates: Sendable {
  /// The maximum length of a value that is examined.
  private static let limit = 256

  private struct Item: Sendable {
    /// The item up to its value, in lower case.
    let start: [UInt8]
    let kind: DatePlaces.Kind
  }

  private let items: [Item]

  /// - Parameter names: names of query items in lower case. The initializer returns nil if there are none.
  init?(_ names: [String: DatePlaces.Kind]) {
    guard !names.isEmpty else { return nil }
    items = names.flatMap { name, kind in
      ["?", "&", "&amp;", "\\u0026"].flatMap { mark in
        ["=", "\\u003d"].map { Item(start: Array((mark + name + $0).utf8), kind: kind) }
      }
    }
  }

  /// Whether a byte may be the separator before a query item.
  @inline(__always)
  static func mayBegin(with byte: UInt8) -> Bool {
    byte == UInt8(ascii: "?") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\\")
  }

  /// Looks for a declared item at the separator before it.
  ///
  /// `isWhole` means that no more text follows; `keepsLength` means that numbers whose length would change are not
  /// moved.
  func look(
    at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, keepsLength: Bool, offset: DateOffset
  ) -> DateLook {
    var isCut = false
    for item in items {
      let rest = text[index...].prefix(item.start.count)
      guard zip(rest, item.start).allSatisfy({ Self.small($0) == $1 }) else { continue }
      guard rest.count == item.start.count else {
        isCut = true
        continue
      }
      return value(item.kind, from: rest.endIndex, after: index, in: text, isWhole, keepsLength, offset)
    }
    return isCut && !isWhole ? .more : .none
  }

  private func value(
    _ kind: DatePlaces.Kind, from start: Int, after mark: Int, in text: UnsafeBufferPointer<UInt8>, _ isWhole: Bool,
    _ keepsLength: Bool, _ offset: DateOffset
  ) -> DateLook {
    let rest = text[start...].prefix(Self.limit)
    let value = Array(rest.prefix(while: Self.isInValue))
    guard value.count < Self.limit else { return .none }
    guard value.count < rest.count || isWhole else { return .more }
    let end = start + value.count
    if kind == .kept { return .found(end: end, replacement: Array(text[mark..<end])) }
    guard let moved = DeclaredDate.moved(value, kind: kind, offset: offset), !keepsLength || moved.count == value.count
    else { return .none }
    return .found(end: end, replacement: Array(text[mark..<start]) + moved)
  }

  private static func small(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }

  /// Whether a byte is literal in a query value or begins an escape there.
  private static func isInValue(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "%"),
      UInt8(ascii: "+"), UInt8(ascii: ":"):
      true
    default: false
    }
  }
}
