import Cassettes

/// Declared query items in URLs, wherever those stand in a text: `?since=1538989200` and `&since=…`, also `&amp;since=…` as
/// HTML and XML have it, and `\u0026since=…` as JSON may.
///
/// An app follows such a link, and what it asks for then is moved back.
struct QueryDates: Sendable {
  /// The longest value that is looked at.
  private static let limit = 256

  private struct Item: Sendable {
    /// All up to the value, in small letters.
    let start: [UInt8]
    let kind: DatePlaces.Kind
  }

  private let items: [Item]

  /// - Parameter names: of query items, in small letters; nil comes of none.
  init?(_ names: [String: DatePlaces.Kind]) {
    guard !names.isEmpty else { return nil }
    items = names.flatMap { name, kind in
      ["?", "&", "&amp;", "\\u0026"].flatMap { mark in
        ["=", "\\u003d"].map { Item(start: Array((mark + name + $0).utf8), kind: kind) }
      }
    }
  }

  /// Whether a query item may begin after it.
  @inline(__always)
  static func mayBegin(with byte: UInt8) -> Bool {
    byte == UInt8(ascii: "?") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\\")
  }

  /// Looks at what separates an item from what is before it.
  ///
  /// `isWhole` says that nothing comes after the text, `keepsLength` that numbers stay which would become longer or shorter.
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

  /// Whether it stands for itself in a query, or begins an escape there.
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
