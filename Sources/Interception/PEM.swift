import Basics

/// The textual encoding of certificates (RFC 7468).
enum PEM {
  static func encode(_ certificate: [UInt8]) -> String {
    var rest = Base64.encode(certificate)[...]
    var text = "-----BEGIN CERTIFICATE-----\n"
    while !rest.isEmpty {
      text += rest.prefix(64) + "\n"
      rest = rest.dropFirst(64)
    }
    return text + "-----END CERTIFICATE-----\n"
  }
}
