import Basics
import Foundation

/// The textual encoding of certificates (RFC 7468).
enum PEM {
  private static let begin = Data("-----BEGIN CERTIFICATE-----".utf8)
  private static let end = Data("-----END CERTIFICATE-----".utf8)

  /// Returns the text for one certificate, with a final newline.
  static func encode(_ certificate: [UInt8]) -> String {
    var rest = Base64.encode(certificate)[...]
    var text = "-----BEGIN CERTIFICATE-----\n"
    while !rest.isEmpty {
      text += rest.prefix(64) + "\n"
      rest = rest.dropFirst(64)
    }
    return text + "-----END CERTIFICATE-----\n"
  }

  /// Returns the certificates in a file with any line ends, as they are written, without what is around them.
  ///
  /// In particular without private keys, which some files contain, too.
  static func certificates(in text: [UInt8]) -> [ArraySlice<UInt8>] {
    // Not a loop over the bytes: a debug build would take tens of milliseconds for the certificates of a system.
    let data = Data(text)
    var found: [ArraySlice<UInt8>] = []
    var rest = 0..<data.count
    while let start = data.range(of: begin, in: rest), let last = data.range(of: end, in: start.upperBound..<data.count)
    {
      found.append(text[start.lowerBound..<last.upperBound])
      rest = last.upperBound..<data.count
    }
    return found
  }

  /// Returns one certificate of ``certificates(in:)`` as DER, or nil if it is not valid Base64.
  static func decode(_ certificate: ArraySlice<UInt8>) -> [UInt8]? {
    Base64.decode(String(decoding: certificate.dropFirst(begin.count).dropLast(end.count), as: UTF8.self))
  }
}
