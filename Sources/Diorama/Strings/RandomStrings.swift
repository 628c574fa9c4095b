public import Foundation
package import LaunchContract

/// Random input that a test can record and replay: e-mail addresses, symptoms, ids.
///
/// Live it is really random. Under a launch contract each value depends on the contract's seed, the key and how often
/// that key was used before, and on nothing else: not on threads, not on other keys. A recording stores the values, a
/// replay reads them.
///
/// ```swift
/// let email = try controls.strings.string("email", length: 12) + "@example.com"
/// ```
///
/// A key says what the value is for; it is not empty and has no control characters. Under a contract that reports, a
/// call waits for the environment's answer, over loopback, ten seconds at most.
public struct RandomStrings: Sendable {
  /// The letters a to z and the digits.
  public static let lettersAndDigits = "abcdefghijklmnopqrstuvwxyz0123456789"

  private let value: @Sendable (String, StringParameters) throws(DioramaError) -> String

  package init(_ value: @escaping @Sendable (String, StringParameters) throws(DioramaError) -> String) {
    self.value = value
  }

  /// A random string.
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - length: how many characters (Unicode scalars), from 0.
  ///   - alphabet: the 2 to 256 Unicode scalars to choose from.
  /// - Returns: the string.
  /// - Throws: ``DioramaError``: a key, length or alphabet that cannot be, a value missing from the recording, an
  ///   environment that does not answer.
  public func string(
    _ key: String, length: Int, alphabet: String = RandomStrings.lettersAndDigits
  ) throws(DioramaError) -> String {
    try value(key, .string(length: length, alphabet: alphabet))
  }

  /// A random UUID.
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - version4: whether a derived one is to be marked as version 4, for a reader that insists; a live one is
  ///     always of version 4.
  /// - Returns: the UUID.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func uuid(_ key: String, version4: Bool = false) throws(DioramaError) -> UUID {
    let text = try value(key, .uuid(version4: version4))
    guard let uuid = UUID(uuidString: text) else { throw Self.unusable(text, key, "UUID") }
    return uuid
  }

  /// A random whole number.
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - range: the numbers that it may be, both ends included.
  /// - Returns: the number.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func integer(_ key: String, in range: ClosedRange<Int>) throws(DioramaError) -> Int {
    let text = try value(key, .integer(low: Int64(range.lowerBound), high: Int64(range.upperBound)))
    guard let number = Int(text), range ~= number else {
      throw Self.unusable(text, key, "integer in \(range.lowerBound)…\(range.upperBound)")
    }
    return number
  }

  private static func unusable(_ text: String, _ key: String, _ wanted: String) -> DioramaError {
    DioramaError(.control, "the value '\(text)' recorded for the key \"\(key)\" is no \(wanted); record it again")
  }
}

extension RandomStrings {
  /// Real randomness, for an app without a contract.
  package static let live = RandomStrings { (key, parameters) throws(DioramaError) in
    try StringDerivation.check(key: key)
    switch parameters {
    case .string(let length, let alphabet):
      try StringDerivation.check(length: length)
      let letters = try StringDerivation.letters(of: alphabet)
      var string = String.UnicodeScalarView()
      for _ in 0..<length { string.append(letters[Int.random(in: letters.indices)]) }
      return String(string)
    case .uuid:
      return UUID().uuidString
    case .integer(let low, let high):
      return String(Int64.random(in: low...high))
    }
  }
}
