import Diorama
import Foundation

/// A type whose values tests need without caring about their content, such as the response of a stub.
///
/// Conform a type of the app, usually in the test target, and ``mock(seed:)`` makes a value of its `Decodable` shape:
///
/// ```swift
/// extension Prescription: Mockable {}
///
/// try await environment.stub(.get("/prescriptions")) { try .json([Prescription.mock().with(\.dose, 1.5)]) }
/// ```
///
/// The properties need no conformance. For an enumeration without associated values, one of `allCases` is chosen,
/// so it has to be `CaseIterable`. For other types that can't be made from arbitrary values, such as an enumeration with
/// associated values, provide ``mockExample``.
public protocol Mockable: Decodable {
  /// The value to use for this type wherever one is needed; nil, the default, to make one. Don't call ``mock(seed:)`` of
  /// the same type here: it would call this property.
  static var mockExample: Self? { get }
}

extension Mockable {
  /// None: a value is made.
  public static var mockExample: Self? { nil }

  /// Makes a value from the type's `Decodable` shape. The same seed gives the same value on every machine.
  ///
  /// Each property's content depends only on the seed and the property's path, so that a new property doesn't change
  /// the others. A string is the property's name, a hyphen and six letters or digits; a whole number is from 1 to 9999,
  /// or the type's maximum; a fraction has two decimals; a date is in 2021; a URL is at example.com; an array has two
  /// elements, a set at most two, and a dictionary none. Optionals have a value, except where the type contains itself: there,
  /// optionals are nil and arrays are empty.
  ///
  /// ```swift
  /// let patients = try (1...20).map { try Patient.mock(seed: "patient \($0)") }
  /// ```
  ///
  /// - Parameter seed: a text that selects the value.
  /// - Returns: the value.
  /// - Throws: ``DioramaTestingError`` of kind `usage` if the type can't be decoded from the generated values.
  public static func mock(seed: String = "mock") throws(DioramaTestingError) -> Self {
    let decoder = MockDecoder(derivation: StringDerivation(seed: seed), codingPath: [], types: [])
    do { return try decoder.value(Self.self) } catch {
      throw DioramaTestingError(.usage, "\(Self.self) can't be mocked: \(Self.reason(error))")
    }
  }

  /// The value with another value of a property.
  ///
  /// ```swift
  /// let strong = try Prescription.mock().with(\.dose, 12).with(\.patient.name, "Ann")
  /// ```
  ///
  /// - Parameters:
  ///   - property: the path of a property declared with `var`.
  ///   - value: its value.
  /// - Returns: the changed value.
  public func with<Value>(_ property: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
    var copy = self
    copy[keyPath: property] = value
    return copy
  }

  private static func reason(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let context: DecodingError.Context? =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    let path = (context?.codingPath ?? []).map(\.stringValue).joined(separator: ".")
    var reason = context?.debugDescription ?? "\(error)"
    if reason.hasSuffix(".") { reason.removeLast() }
    return "\(path.isEmpty ? "its decoder" : "the property '\(path)'") refuses a generated value: \(reason); "
      + "if it is an enumeration, make it CaseIterable; otherwise, provide mockExample"
  }
}

/// The key of an array's element.
private struct ElementKey: CodingKey {
  var intValue: Int?
  var stringValue: String
  init(intValue: Int) { (self.intValue, stringValue) = (intValue, "\(intValue)") }
  init?(stringValue: String) { self.stringValue = stringValue }
}

/// A list, whose elements may be of a type that contains the list.
private protocol ElementList { static var element: Any.Type { get } }
extension Array: ElementList { static var element: Any.Type { Element.self } }
extension Set: ElementList { static var element: Any.Type { Element.self } }

/// A dictionary, whose keys may be decoded as a list.
private protocol Pairs {}
extension Dictionary: Pairs {}

extension CaseIterable {
  fileprivate static var list: [Any] { Array(allCases) }
}

/// A decoder that derives every value from a seed and the value's path.
private struct MockDecoder: Decoder {
  let derivation: StringDerivation
  let codingPath: [any CodingKey]
  /// The types of the values around this one, to end recursive types.
  let types: [Any.Type]
  /// The number of elements if the value is a list.
  var count = 2

  var userInfo: [CodingUserInfoKey: Any] { [:] }
  private var key: String { "mock/" + codingPath.map(\.stringValue).joined(separator: "/") }

  func at(_ key: any CodingKey) -> MockDecoder {
    MockDecoder(derivation: derivation, codingPath: codingPath + [key], types: types)
  }

  func contains(_ type: Any.Type) -> Bool { types.contains { $0 == type } }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Properties(decoder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer { Elements(decoder: self) }
  func singleValueContainer() -> any SingleValueDecodingContainer { SingleValue(decoder: self) }

  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let known = try known(type) as? Value { return known }
    var inner = MockDecoder(derivation: derivation, codingPath: codingPath, types: types + [type])
    guard inner.types.count <= 100 else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: Array(codingPath.prefix(3)), debugDescription: "the value never ends, because it contains itself")
      )
    }
    if let list = type as? any ElementList.Type, contains(list.element) { inner.count = 0 }
    if type is any Pairs.Type { inner.count = 0 }
    return try Value(from: inner)
  }

  /// The value of a type that isn't made from its shape.
  private func known(_ type: Any.Type) throws -> Any? {
    if let type = type as? any Mockable.Type, let example = type.mockExample { return example }
    switch type {
    case is Date.Type: return Date(timeIntervalSince1970: 1_609_459_200 + Double(try number(upTo: 31_535_999)))
    case is URL.Type: return URL(string: "https://example.com/\(try letters(12))")
    case is UUID.Type: return try derivation.uuid(key: key, ordinal: 0, version4: true)
    case is Decimal.Type: return Decimal(try number(upTo: 99_999)) / 100
    case is Data.Type: return Data(try letters(16).utf8)
    default: break
    }
    if let type = type as? any CaseIterable.Type {
      let cases = type.list
      if !cases.isEmpty { return cases[try derivation.choice(key: key, ordinal: 0, count: cases.count)] }
    }
    return nil
  }

  func bool() throws -> Bool { try derivation.choice(key: key, ordinal: 0, count: 2) == 1 }

  func integer<Number: FixedWidthInteger>() throws -> Number {
    Number(try number(upTo: Int64(clamping: min(9999, UInt64(Number.max)))))
  }

  func fraction() throws -> Double { Double(try number(upTo: 99_999)) / 100 }

  func string() throws -> String {
    let name = codingPath.last { $0.intValue == nil }?.stringValue ?? "text"
    return "\(name)-\(try letters(6))"
  }

  private func number(upTo highest: Int64) throws -> Int64 {
    try derivation.integer(key: key, ordinal: 0, in: 1...highest)
  }

  private func letters(_ length: Int) throws -> String {
    try derivation.string(key: key, ordinal: 0, length: length, alphabet: RandomStrings.lettersAndDigits)
  }
}

private struct SingleValue: SingleValueDecodingContainer {
  let decoder: MockDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }
  func decodeNil() -> Bool { false }
  func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
  func decode(_ type: String.Type) throws -> String { try decoder.string() }
  func decode(_ type: Double.Type) throws -> Double { try decoder.fraction() }
  func decode(_ type: Float.Type) throws -> Float { Float(try decoder.fraction()) }
  func decode(_ type: Int.Type) throws -> Int { try decoder.integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type) }
}

/// All keys that are asked for; none is known in advance.
private struct Properties<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: MockDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { [] }
  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { false }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try decoder.at(key).value(type) }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    decoder.contains(type) ? nil : try decode(type, forKey: key)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested>
  {
    decoder.at(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.at(key).unkeyedContainer() }
  func superDecoder() -> any Decoder { decoder }
  func superDecoder(forKey key: Key) -> any Decoder { decoder.at(key) }
}

private struct Elements: UnkeyedDecodingContainer {
  let decoder: MockDecoder
  var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { decoder.count }
  var isAtEnd: Bool { currentIndex >= decoder.count }

  private mutating func next() -> MockDecoder {
    defer { currentIndex += 1 }
    return decoder.at(ElementKey(intValue: currentIndex))
  }

  mutating func decodeNil() -> Bool { false }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().value(type) }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
    next().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { next().unkeyedContainer() }
  mutating func superDecoder() -> any Decoder { next() }
}
