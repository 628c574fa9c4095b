package import Basics

/// The fields of queries and bodies that carry secrets by their definition, which are redacted unless `keep` names them.
package enum SecretFields {
  /// In queries, forms and JSON: OAuth 2.0 (RFC 6749, 7521, 7636), OpenID Connect, and the usual names of passwords and
  /// keys.
  private static let everywhere = [
    "access_token", "refresh_token", "id_token", "id_token_hint", "auth_token", "session_token", "client_secret",
    "client_assertion", "code_verifier", "password", "passwd", "passphrase", "new_password", "old_password",
    "current_password", "password_confirmation", "confirm_password", "api_key", "secret_key", "private_key",
  ]
  /// In queries and forms only: the signatures of presigned URLs (Amazon S3, Google Cloud Storage, Azure).
  private static let signatures = ["X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "sig"]
  /// In requests for a token only, which have a `grant_type` (RFC 6749, 7521, 8628, 8693).
  private static let grants = ["code", "assertion", "device_code", "subject_token", "actor_token"]

  /// All of them, as documented.
  package static let defaults = everywhere + signatures + grants
  package static let inJSON = FieldNames(everywhere)
  package static let inQueries = FieldNames(everywhere + signatures)
  package static let inTokenRequests = FieldNames(grants)
  /// The field that makes a request one for a token.
  static let tokenRequest = FieldNames(["grant_type"])
}

/// The fields to redact in a query or form.
package struct SelectedFields: Sendable {
  /// Names from rules, in lower case.
  var names: Set<String>
  /// Names that are redacted by default.
  var secret: FieldNames

  init(names: Set<String> = [], secret: FieldNames = .none) {
    self.names = names
    self.secret = secret
  }

  var isEmpty: Bool { names.isEmpty && secret.isEmpty }

  func contains(_ name: String) -> Bool { names.contains(name.lowercased()) || secret.contains(name) }

  /// Whether a field's value is redacted. By default a credential's mark stays, since it tells more.
  func select(_ name: String, value: ArraySlice<UInt8>) -> Bool {
    names.contains(name.lowercased()) || secret.contains(name) && !RedactionMark.isMark(value)
  }
}

/// A JSON Web Token without its signature: an app can still read its claims, but no server accepts it.
enum UnsignedToken {
  /// `redacted` in base64url.
  private static let signature = Array("cmVkYWN0ZWQ".utf8)

  /// Replaces the signature of a token in the compact form (RFC 7515, section 7.1); nil for any other text.
  static func of(_ text: [UInt8]) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // A header is a JSON object, and begins with `{"`.
    guard parts.count == 3, parts[0].starts(with: "eyJ".utf8), !parts[1].isEmpty,
      parts.allSatisfy({ $0.allSatisfy(isBase64URL) })
    else { return nil }
    return parts[0] + [UInt8(ascii: ".")] + parts[1] + [UInt8(ascii: ".")] + signature
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
