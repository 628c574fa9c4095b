import Basics
import Foundation

/// Which items a list shows, by the query of its request: filters, order, and pages, as json-server has them.
///
/// | Parameter | Meaning |
/// |---|---|
/// | `name=Ann`, `address.city=Rome` | the field is equal; repeated: one of the values |
/// | `age_gte=18`, `_lte`, `_gt`, `_lt` | the field is in a range |
/// | `name_ne=Ann` | the field is different; repeated: from all values |
/// | `name_like=an` | the field contains the text, in any case of letters |
/// | `q=text` | any value contains the text, in any case of letters; repeated: all of them |
/// | `_sort=name,-age`, `_order=asc,desc` | the order; items without the field come last |
/// | `_page=2`, `_limit=20` or `_per_page=20` | a page, counted from 1 |
/// | `_start=20`, `_end=40` or `_limit=20` | a range, counted from 0, without its end |
///
/// Numbers compare by value and texts by their Unicode scalars. A field that is an array counts if one of its elements does.
struct CollectionQuery {
  /// The most parameters of a request.
  static let maximumParameters = 100
  /// The most fields to sort by.
  static let maximumSortFields = 16
  /// The size of a page that is not given, as in json-server.
  static let defaultPageSize = 10
  private static let options = ["_sort", "_order", "_page", "_limit", "_per_page", "_start", "_end"]

  fileprivate enum Comparison: String, CaseIterable {
    case atLeast = "_gte"
    case atMost = "_lte"
    case above = "_gt"
    case below = "_lt"
    case different = "_ne"
    case like = "_like"
  }

  fileprivate struct Filter {
    /// The parameter as a field, which an item may have although it ends like a comparison.
    let whole: ItemField
    let field: ItemField
    let comparison: Comparison?
    var operands: [Operand]
  }

  private enum Window {
    case all
    case page(Int, size: Int)
    case range(Range<Int>)
  }

  /// The items to show.
  struct Selection {
    var items: [JSON]
    /// How many items the filters leave.
    var total: Int
    /// The number of the page and of the last page; nil if the request asks for no page.
    var page: (number: Int, last: Int)?
  }

  private var filters: [Filter] = []
  private var texts: [Operand] = []
  private var order: [(field: ItemField, isDescending: Bool)] = []
  private var window = Window.all

  /// - Parameters:
  ///   - parameters: the items of the query, decoded.
  ///   - isField: whether an item has a member with this name.
  /// - Throws: ``CodedError`` for a number or an order that is not valid, and for too many parameters.
  init(_ parameters: [(name: String, value: String)], isField: (String) -> Bool) throws(CodedError) {
    guard parameters.count <= Self.maximumParameters else {
      throw CodedError(.usage, "the query has more than \(Self.maximumParameters) parameters; use fewer")
    }
    var given: [String: String] = [:]
    for (name, value) in parameters {
      if Self.options.contains(name) {
        // A repeated order is one list.
        given[name] = given[name].map { "\($0),\(value)" } ?? value
      } else if name == "q" {
        texts.append(Operand(value))
      } else {
        if name.hasPrefix("_"), let near = EditDistance.likely(name, among: Self.options), !isField(name) {
          throw CodedError(.usage, "the query parameter '\(name)' is not known; did you mean \(near)?")
        }
        addFilter(name, Operand(value))
      }
    }
    order = Self.order(given["_sort"] ?? "", given["_order"] ?? "")
    guard order.count <= Self.maximumSortFields else {
      throw CodedError(.usage, "the query parameter '_sort' has more than \(Self.maximumSortFields) fields; use fewer")
    }
    if let odd = (given["_order"] ?? "").split(separator: ",").first(where: {
      !["asc", "desc"].contains($0.lowercased())
    }) {
      throw CodedError(.usage, "the query parameter '_order' has '\(odd.prefix(40))'; use asc or desc")
    }
    window = try Self.window(given)
  }

  private mutating func addFilter(_ name: String, _ operand: Operand) {
    if let index = filters.firstIndex(where: { $0.whole.name.hasSameBytes(as: name) }) {
      return filters[index].operands.append(operand)
    }
    let comparison = Comparison.allCases.first { name.hasSuffix($0.rawValue) && name.count > $0.rawValue.count }
    let field = comparison.map { String(name.dropLast($0.rawValue.count)) } ?? name
    filters.append(
      Filter(whole: ItemField(name), field: ItemField(field), comparison: comparison, operands: [operand]))
  }

  private static func order(_ sort: String, _ order: String) -> [(field: ItemField, isDescending: Bool)] {
    let directions = order.split(separator: ",").map { $0.lowercased() == "desc" }
    return sort.split(separator: ",").enumerated().map { number, name in
      let isMinus = name.hasPrefix("-")
      let isDescending = directions.indices.contains(number) && directions[number]
      return (ItemField(String(isMinus ? name.dropFirst() : name)), isMinus != isDescending)
    }
  }

  private static func window(_ given: [String: String]) throws(CodedError) -> Window {
    func number(_ name: String, from least: Int) throws(CodedError) -> Int? {
      guard let text = given[name] else { return nil }
      guard let number = Int(text), number >= least, number <= Int(Int32.max) else {
        throw CodedError(
          .usage, "the query parameter '\(name)' is '\(text.prefix(40))'; use a whole number from \(least)")
      }
      return number
    }
    let page = try number("_page", from: 1)
    let (limit, perPage) = (try number("_limit", from: 1), try number("_per_page", from: 1))
    let (start, end) = (try number("_start", from: 0), try number("_end", from: 0))
    for (name, other) in [("_page", "_start"), ("_page", "_end"), ("_limit", "_per_page"), ("_limit", "_end")]
    where given[name] != nil && given[other] != nil {
      throw CodedError(.usage, "the query has both '\(name)' and '\(other)'; use one of them")
    }
    let size = limit ?? perPage
    if start != nil || end != nil {
      let start = start ?? 0
      return .range(start..<max(start, end ?? size.map { start + $0 } ?? Int.max))
    }
    return page == nil && size == nil ? .all : .page(page ?? 1, size: size ?? defaultPageSize)
  }

  /// The items that the query selects.
  func select(_ items: some Sequence<JSON>) -> Selection {
    var found = items.filter { item in
      filters.allSatisfy { $0.matches(item) } && texts.allSatisfy { $0.isIn(anyValueOf: item) }
    }
    if !order.isEmpty { found = sorted(found) }
    let total = found.count
    switch window {
    case .all: return Selection(items: found, total: total)
    case .range(let range): return Selection(items: Array(found[range.clamped(to: 0..<total)]), total: total)
    case .page(let number, let size):
      let start = min(total, (number - 1) * size)
      return Selection(
        items: Array(found[start..<min(total, start + size)]), total: total,
        page: (number, max(1, (total + size - 1) / size)))
    }
  }

  private func sorted(_ items: [JSON]) -> [JSON] {
    let keyed = items.enumerated().map { number, item in
      (number: number, keys: order.map { $0.field.sortKey(in: item) })
    }
    return keyed.sorted { left, right in
      for (number, (_, isDescending)) in order.enumerated() {
        let (one, two) = (left.keys[number], right.keys[number])
        // In both directions, items without the field are last.
        if one.isNothing || two.isNothing, one.isNothing != two.isNothing { return two.isNothing }
        if one < two { return !isDescending }
        if two < one { return isDescending }
      }
      return left.number < right.number
    }.map { items[$0.number] }
  }

  // MARK: Links

  /// The header `Link` (RFC 8288) of a page: the target of the request with other numbers of pages.
  ///
  /// The links are relative, so that they are the same on every port.
  static func links(_ request: StubRequest, page: (number: Int, last: Int)) -> String {
    let path = request.path
    let raw = request.target.utf8.dropFirst(path.utf8.count + 1).split(separator: UInt8(ascii: "&"))
    let others = zip(raw, request.query).filter { $1.name != "_page" }.map { safe($0.0) }
    var links = [("first", 1)]
    if page.number > 1 { links.append(("prev", min(page.number - 1, page.last))) }
    if page.number < page.last { links.append(("next", page.number + 1)) }
    links.append(("last", page.last))
    return links.map { relation, number in
      "<\(safe(path.utf8[...]))?\((others + ["_page=\(number)"]).joined(separator: "&"))>; rel=\"\(relation)\""
    }.joined(separator: ", ")
  }

  /// Escapes what cannot be in a URI reference in angle brackets.
  private static func safe(_ text: some Sequence<UInt8>) -> String {
    text.map { byte in
      0x21...0x7E ~= byte && !#"<>"\"#.utf8.contains(byte)
        ? String(Unicode.Scalar(byte)) : String(format: "%%%02X", byte)
    }.joined()
  }
}

extension CollectionQuery.Filter {
  func matches(_ item: JSON) -> Bool {
    guard let comparison, !whole.isAny(in: item, where: { _ in true }) else {
      return whole.isAny(in: item) { value in operands.contains { $0.equals(value) } }
    }
    if comparison == .different {
      return !field.isAny(in: item) { value in operands.contains { $0.equals(value) } }
    }
    return field.isAny(in: item) { value in
      operands.contains { operand in
        if comparison == .like { return operand.isIn(value) }
        guard let (value, limit) = operand.comparable(to: value) else { return false }
        return switch comparison {
        case .atLeast: !(value < limit)
        case .atMost: !(limit < value)
        case .above: limit < value
        case .below: value < limit
        case .different, .like: false
        }
      }
    }
  }
}

/// A field of items: a member, or a path with dots through objects and arrays.
struct ItemField {
  let name: String
  private let steps: [String]

  init(_ name: String) {
    self.name = name
    steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether one of the field's values fulfils a condition. An array's elements are values of their own.
  func isAny(in item: JSON, where condition: (JSON) -> Bool) -> Bool {
    if steps.count > 1, let value = item.object?[name] { return Self.isAny([], in: value, condition) }
    return Self.isAny(steps[...], in: item, condition)
  }

  private static func isAny(_ steps: ArraySlice<String>, in value: JSON, _ condition: (JSON) -> Bool) -> Bool {
    if case .array(let elements) = value {
      if let index = steps.first.flatMap(JSONPointer.index), elements.indices.contains(index) {
        return isAny(steps.dropFirst(), in: elements[index], condition)
      }
      return elements.contains { isAny(steps, in: $0, condition) }
    }
    guard let step = steps.first else { return condition(value) }
    guard let member = value.object?[step] else { return false }
    return isAny(steps.dropFirst(), in: member, condition)
  }

  fileprivate func sortKey(in item: JSON) -> SortKey {
    var key = SortKey.nothing
    _ = isAny(in: item) { value in
      key = SortKey(value)
      return true
    }
    return key
  }
}

/// A value of a query's parameter, or of a path, to compare fields with.
struct Operand {
  private let text: String
  private let key: SortKey
  /// The text in lower case.
  private let folded: [UInt8]
  /// For each start of the text in lower case, the length of its longest proper start that is also its end.
  private let borders: [Int]

  init(_ text: String) {
    self.text = text
    var number: JSON?
    if text.utf8.count <= 1_000, let json = try? JSON.parse(Array(text.utf8)), case .number = json { number = json }
    key = SortKey(number ?? .string(text))
    let folded = Array(text.lowercased().utf8)
    var borders = folded.isEmpty ? [] : [0]
    var length = 0
    for byte in folded.dropFirst() {
      while length > 0, folded[length] != byte { length = borders[length - 1] }
      if folded[length] == byte { length += 1 }
      borders.append(length)
    }
    self.folded = folded
    self.borders = borders
  }

  /// The operand as a value: a number if it is one and the other value is, too.
  func value(like other: JSON?) -> JSON {
    if case .number? = other, case .number(let number) = key { return .number(number.text) }
    return .string(text)
  }

  /// Whether a field has this value: the same text, or an equal number.
  func equals(_ value: JSON) -> Bool {
    switch value {
    case .string(let other): return other.hasSameBytes(as: text)
    case .number(let other):
      if other.hasSameBytes(as: text) { return true }
      guard case .number(let number) = key else { return false }
      let value = DecimalNumber(other)
      return !(number < value) && !(value < number)
    case .bool(let flag): return text == (flag ? "true" : "false")
    case .null: return text == "null"
    case .array, .object: return false
    }
  }

  /// Both values, if they have an order: two numbers, or two texts.
  fileprivate func comparable(to value: JSON) -> (SortKey, SortKey)? {
    switch (value, key) {
    case (.number, .number): (SortKey(value), key)
    case (.string(let other), _): (.text(other), .text(text))
    default: nil
    }
  }

  /// Whether a scalar value contains the text, in any case of letters.
  func isIn(_ value: JSON) -> Bool {
    guard value.array == nil, value.object == nil else { return false }
    // Knuth, Morris and Pratt's search: linear for every text.
    var matched = 0
    for byte in value.text.lowercased().utf8 where matched < folded.count {
      while matched > 0, folded[matched] != byte { matched = borders[matched - 1] }
      if folded[matched] == byte { matched += 1 }
    }
    return matched == folded.count
  }

  /// Whether any scalar value in a value contains the text.
  func isIn(anyValueOf value: JSON) -> Bool {
    var open = [value]
    while let value = open.popLast() {
      switch value {
      case .array(let elements): open += elements
      case .object(let members): open += members.map(\.value)
      default: if isIn(value) { return true }
      }
    }
    return false
  }
}

/// The order of values of all kinds: numbers, texts, false, true.
private enum SortKey: Comparable {
  case number(DecimalNumber)
  case text(String)
  case bool(Int)
  /// Null, an object, or no value.
  case nothing

  init(_ value: JSON) {
    switch value {
    case .number(let text): self = .number(DecimalNumber(text))
    case .string(let text): self = .text(text)
    case .bool(let flag): self = .bool(flag ? 1 : 0)
    case .null, .array, .object: self = .nothing
    }
  }

  var isNothing: Bool {
    if case .nothing = self { return true }
    return false
  }

  private var rank: Int {
    switch self {
    case .number: 0
    case .text: 1
    case .bool: 2
    case .nothing: 3
    }
  }

  static func < (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.number(let left), .number(let right)): left < right
    // UTF-8 has the order of the scalars.
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.bool(let left), .bool(let right)): left < right
    default: left.rank < right.rank
    }
  }
}

/// A number of JSON in the order of exact values.
private struct DecimalNumber: Comparable {
  let text: String
  private let rounded: Double

  init(_ text: String) {
    self.text = text
    rounded = Double(text) ?? 0
  }

  static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }

  static func < (left: Self, right: Self) -> Bool {
    // Rounding keeps the order, so only equal results have to be compared exactly.
    if left.rounded != right.rounded { return left.rounded < right.rounded }
    if left.text.utf8.elementsEqual(right.text.utf8) { return false }
    let (one, two) = (left.exact, right.exact)
    if one.sign != two.sign { return one.sign < two.sign }
    let isLess =
      one.magnitude != two.magnitude
      ? one.magnitude < two.magnitude : one.digits.lexicographicallyPrecedes(two.digits)
    let isSame = one.magnitude == two.magnitude && one.digits == two.digits
    return !isSame && (one.sign < 0) != isLess
  }

  /// The sign, the digits without zeros at both ends, and the power of ten of the point before them.
  private var exact: (sign: Int, digits: [UInt8], magnitude: Int) {
    let parts = text.utf8.split(omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    var magnitude = 0
    var digits: [UInt8] = []
    var isFraction = false
    for byte in parts[0] {
      switch byte {
      case UInt8(ascii: "-"): continue
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "0") where digits.isEmpty: if isFraction { magnitude -= 1 }
      default:
        digits.append(byte)
        if !isFraction { magnitude += 1 }
      }
    }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    guard !digits.isEmpty else { return (0, [], 0) }
    // An exponent beyond all limits stays beyond all others.
    let far = 1 << 60
    let exponent = parts.count > 1 ? String(Substring(parts[1])) : "0"
    let power = Int(exponent).map { min(far, max(-far, $0)) } ?? (exponent.hasPrefix("-") ? -far : far)
    return (isNegative ? -1 : 1, digits, magnitude + power)
  }
}
