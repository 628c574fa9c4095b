public import Foundation
import LaunchContract

extension RandomStrings {
  /// A random string.
  ///
  /// ```swift
  /// let symptom = try controls.strings.string("symptom", length: 24)
  /// ```
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - length: how many characters (Unicode scalars), from 0 to 1,048,576.
  ///   - alphabet: the 2 to 256 Unicode scalars to choose from.
  /// - Returns: the string.
  /// - Throws: ``DioramaError``: a key, length or alphabet that cannot be, a value missing from the recording, an
  ///   environment that does not answer.
  public func string(
    _ key: String, length: Int, alphabet: String = RandomStrings.lettersAndDigits
  ) throws(DioramaError) -> String {
    if let draw = try draw(key, .string(length: length, alphabet: alphabet)) { return draw.value }
    var bytes = SystemBytes()
    return try Letters.of(alphabet).string(length: length, from: &bytes)
  }

  /// A random e-mail address: letters a to z and digits, an `@` and the domain.
  ///
  /// ```swift
  /// let user = try controls.strings.email("user")  // z0r1lpyugt7o@example.com
  /// ```
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - domain: what stands behind the `@`; `example.com` belongs to nobody.
  ///   - length: how many characters stand before it, 1 to 64.
  /// - Returns: the address.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func email(
    _ key: String, domain: String = "example.com", length: Int = 12
  ) throws(DioramaError) -> String {
    if let draw = try draw(key, .email(length: length, domain: domain)) { return draw.value }
    var bytes = SystemBytes()
    return "\(try Letters.of(Self.lettersAndDigits).string(length: length, from: &bytes))@\(domain)"
  }

  /// A random UUID.
  ///
  /// ```swift
  /// let booking = try controls.strings.uuid("booking")
  /// ```
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - version4: whether a derived one is to be marked as version 4, for a reader that insists; a live one is
  ///     always of version 4.
  /// - Returns: the UUID.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func uuid(_ key: String, version4: Bool = false) throws(DioramaError) -> UUID {
    guard let draw = try draw(key, .uuid(version4: version4)) else { return UUID() }
    guard let uuid = UUID(uuidString: draw.value) else { throw draw.unusable(as: "UUID") }
    return uuid
  }

  /// A random whole number.
  ///
  /// ```swift
  /// let age = try controls.strings.integer("age", in: 18...99)
  /// ```
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - range: the numbers that it may be, both ends included, within the 64 bits of `Int64`.
  /// - Returns: the number.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func integer<Number: FixedWidthInteger>(
    _ key: String, in range: ClosedRange<Number>
  ) throws(DioramaError) -> Number {
    guard let low = Int64(exactly: range.lowerBound), let high = Int64(exactly: range.upperBound) else {
      throw DioramaError(
        .invalidRequest, "random integers are of 64 bits with a sign, and \(range) goes beyond \(Int64.max)")
    }
    guard let draw = try draw(key, .integer(low: low, high: high)) else { return Number.random(in: range) }
    guard let number = Number(draw.value), range ~= number else {
      throw draw.unusable(as: "integer in \(low)…\(high)")
    }
    return number
  }
}
