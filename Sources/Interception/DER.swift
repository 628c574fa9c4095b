import Basics

/// The distinguished encoding rules (ITU-T X.690), as far as certificates need them.
enum DER {
  /// An object identifier in its encoded form.
  struct Identifier: Sendable {
    let bytes: [UInt8]

    /// - Parameter arcs: at least two; the first is 0, 1 or 2.
    init(_ arcs: Int...) {
      bytes = ([arcs[0] * 40 + arcs[1]] + arcs[2...]).flatMap { arc -> [UInt8] in
        var groups = [UInt8(arc & 0x7F)]
        var rest = arc >> 7
        while rest > 0 {
          groups.append(UInt8(rest & 0x7F) | 0x80)
          rest >>= 7
        }
        return groups.reversed()
      }
    }
  }

  /// Returns a value with its tag and length in front.
  static func element(_ tag: UInt8, _ value: [UInt8]) -> [UInt8] {
    guard value.count >= 0x80 else { return [tag, UInt8(value.count)] + value }
    var length: [UInt8] = []
    var rest = value.count
    while rest > 0 {
      length.append(UInt8(rest & 0xFF))
      rest >>= 8
    }
    return [tag, 0x80 | UInt8(length.count)] + length.reversed() + value
  }

  static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(0x30, Array(elements.joined())) }
  static func set(_ elements: [UInt8]...) -> [UInt8] { element(0x31, Array(elements.joined())) }
  /// Encodes an integer, given in its shortest form with the most significant byte first. It is negative if the highest
  /// bit is set.
  static func integer(_ bytes: [UInt8]) -> [UInt8] { element(0x02, bytes) }
  /// Encodes bits. The last `unusedBits` of the last byte do not belong to them.
  static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] { element(0x03, [unusedBits] + bytes) }
  static func octetString(_ bytes: [UInt8]) -> [UInt8] { element(0x04, bytes) }
  static func identifier(_ identifier: Identifier) -> [UInt8] { element(0x06, identifier.bytes) }
  static func text(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }
  /// `false` is never encoded, since it is always a default value.
  static let isTrue: [UInt8] = element(0x01, [0xFF])

  /// Returns an instant as certificates need it: UTCTime, whose two digits of the year mean 1950 to 2049, otherwise
  /// GeneralizedTime (RFC 5280, section 4.1.2.5, which says nothing about years before 1950).
  ///
  /// - Parameter seconds: since 1970; clamped to the years 0000 to 9999.
  /// - Returns: the encoded instant.
  static func time(_ seconds: Int) -> [UInt8] {
    let digits = RFC3339.format(seconds: seconds).utf8.filter { $0 >= 0x30 && $0 != 0x3A && $0 != UInt8(ascii: "T") }
    let isShort = (-631_152_000..<2_524_608_000).contains(seconds)
    return isShort ? element(0x17, Array(digits.dropFirst(2))) : element(0x18, digits)
  }
}

/// The name of a certificate's subject or issuer (RFC 5280, section 4.1.2.4).
struct DistinguishedName: Sendable {
  let organization: String
  let commonName: String?

  private static let organizationName = DER.Identifier(2, 5, 4, 10)
  private static let commonName = DER.Identifier(2, 5, 4, 3)

  var encoded: [UInt8] { DER.element(0x30, encode { $0 }) }

  /// The name in the form that OpenSSL hashes for the names of links in a folder of certificates: without the outer
  /// sequence, in lower case, and without superfluous spaces. See `X509_NAME_hash_ex(3)`.
  var canonical: [UInt8] {
    encode { text in
      // Only ASCII letters and spaces are changed.
      let words = text.utf8.split(whereSeparator: { $0 == 0x20 || (0x09...0x0D).contains($0) })
      return String(decoding: Array(words.joined(separator: [0x20])), as: UTF8.self).asciiLowercased
    }
  }

  private func encode(_ transform: (String) -> String) -> [UInt8] {
    func attribute(_ type: DER.Identifier, _ value: String) -> [UInt8] {
      DER.set(DER.sequence(DER.identifier(type), DER.text(transform(value))))
    }
    return attribute(Self.organizationName, organization)
      + (commonName.map { attribute(Self.commonName, $0) } ?? [])
  }
}

extension String {
  /// The same text with the letters A to Z in lower case.
  var asciiLowercased: String { String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self) }
}
