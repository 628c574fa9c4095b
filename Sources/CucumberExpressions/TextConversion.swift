import Basics
import Foundation

extension String {
  /// Converts a text to a number, `Bool`, `Decimal`, string, case of an enum, or value written as JSON.
  ///
  /// - Throws: ``ExpressionError`` with what was expected.
  package func converted<Value>(to type: Value.Type) throws(ExpressionError) -> Value {
    if let optional = type as? any OptionalType.Type {
      if let value = try optional.wrapping(self) as? Value { return value }
    } else if let value = simplyConverted(to: type) {
      return value
    }
    var expectation = ""
    if let integer = type as? any FixedWidthInteger.Type {
      expectation = "; expected an integer from \(integer.min) to \(integer.max)"
    } else if type == Decimal.self {
      expectation = "; expected a number of at most \(Self.decimalDigits) digits"
    } else if let list = type as? any CaseIterable.Type {
      expectation = "; expected one of: \(list.texts.joined(separator: ", "))"
    } else if !(type is any LosslessStringConvertible.Type), let decodable = type as? any Decodable.Type {
      do {
        if let value = try decoded(decodable) as? Value { return value }
      } catch { expectation = ": \(error.problem)" }
    }
    throw ExpressionError("'\(self)' is not a valid \(Value.self)\(expectation)")
  }

  private func simplyConverted<Value>(to type: Value.Type) -> Value? {
    if type == Decimal.self { return decimal as? Value }
    if let list = type as? any CaseIterable.Type, let value = list.value(self) as? Value { return value }
    if let lossless = type as? any LosslessStringConvertible.Type {
      return lossless.init(type is any Numeric.Type ? withASCIIDigits : self) as? Value
    }
    if let raw = type as? any RawRepresentable.Type { return raw.value(self) as? Value }
    return nil
  }

  /// A text that is not JSON is treated as a string, so that URLs and UUIDs need no quotation marks.
  private func decoded<Value: Decodable>(_ type: Value.Type) throws(CodedError) -> Value {
    do { return try JSON.decode(type, from: Data(utf8), source: "") } catch {
      guard let value = try? JSON.decode(type, from: Data(JSON.string(self).encoded()), source: "") else { throw error }
      return value
    }
  }

  private static let decimalDigits = 38

  /// `Decimal` reads a prefix of a text, and rounds what has too many digits.
  private var decimal: Decimal? {
    let text = withASCIIDigits
    guard let match = text.wholeMatch(of: /[-+]?([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[Ee][-+]?[0-9]+)?/) else { return nil }
    let digits = match.1.filter { $0 != "." }.drop { $0 == "0" }
    let trailing = digits.reversed().prefix { $0 == "0" }.count
    guard digits.count - trailing <= Self.decimalDigits else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }

  /// `\d` matches the digits of all scripts.
  private var withASCIIDigits: String {
    String(flatMap { $0.isASCII ? String($0) : $0.wholeNumberValue.map(String.init) ?? String($0) })
  }
}

private protocol OptionalType {
  /// - Returns: an optional with the converted text.
  static func wrapping(_ text: String) throws(ExpressionError) -> Any
}

extension Optional: OptionalType {
  fileprivate static func wrapping(_ text: String) throws(ExpressionError) -> Any {
    Self.some(try text.converted(to: Wrapped.self)) as Any
  }
}

extension RawRepresentable {
  fileprivate static func value(_ text: String) -> Self? {
    guard let raw = try? text.converted(to: RawValue.self) else { return nil }
    return Self(rawValue: raw)
  }
}

extension CaseIterable {
  /// How the cases are written: their strings as raw values, or their names.
  package static var texts: [String] { allCases.map(text) }

  static func value(_ text: String) -> Self? { allCases.first { Self.text($0) == text } }

  private static func text(_ value: Self) -> String {
    (value as? any RawRepresentable)?.rawValue as? String ?? "\(value)"
  }
}
