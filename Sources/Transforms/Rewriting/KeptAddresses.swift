package import Basics

/// The places in responses where upstream addresses stay as they are, because apps compare them with something that
/// cannot be rewritten, such as a signed token.
///
/// Kept by default are identifiers that tokens repeat: the `issuer` of a discovery document (RFC 8414; OpenID Connect
/// Discovery 1.0), which is the `iss` of its tokens, and the `kid` of keys (RFC 7517), which tokens name in their header.
package struct KeptAddresses: Sendable {
  private var json: [JSONPath] = []
  private var headers: Set<String> = []

  package init() {}

  /// Whether only the default applies.
  package var isEmpty: Bool { json.isEmpty && headers.isEmpty }

  /// Adds a place.
  ///
  /// - Parameter text: `$.issuer` or `header:X-Issuer`.
  /// - Throws: `CodedError` if the place is not valid.
  package mutating func add(_ text: String) throws(CodedError) {
    switch try MessagePlace(text) {
    case .json(let path): json.append(path)
    case .header(let name): headers.insert(name)
    case .query, .form:
      throw CodedError(.broken, "'\(text.prefix(80))' is not a place in responses; use a JSON path or header:NAME")
    }
  }

  func keeps(header name: String) -> Bool { !headers.isEmpty && headers.contains(name.lowercased()) }

  /// Returns the places in a body.
  ///
  /// - Parameters:
  ///   - contentType: the response's `Content-Type`.
  ///   - target: the request's target; nil for a message without one.
  /// - Returns: the places; empty if the body is not JSON by its type.
  func places(inBodyOf contentType: String, target: String?) -> [JSONPath] {
    switch BodyKind(contentType: contentType) {
    case .json, .unsaid: json + Self.usual(contentType, Self.path(of: target ?? ""))
    default: []
    }
  }

  private static func path(of target: String) -> Substring {
    target[..<(target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex)]
  }

  private static func usual(_ contentType: String, _ path: Substring) -> [JSONPath] {
    // Every response with JSON passes here: single bytes are found first, which is much faster than to find a text.
    if path.utf8.contains(UInt8(ascii: ".")), isDiscovery(path) { return issuer }
    let last = path.suffix(from: path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex).lowercased()
    let isKeySet =
      last.utf8.contains(UInt8(ascii: "j")) && last.contains("jwk") || last == "/certs" || last == "/keys"
      || contentType.utf8.contains(UInt8(ascii: "+")) && contentType.lowercased().hasPrefix("application/jwk-set+json")
    return isKeySet ? keyID : []
  }

  /// Whether a path is that of a discovery document. An issuer's own path can be before or behind the well-known name
  /// (OpenID Connect Discovery 1.0, 4; RFC 8414, 3 and 5).
  private static func isDiscovery(_ path: Substring) -> Bool {
    guard let known = path.firstRange(of: "/.well-known/") else { return false }
    return ["openid-configuration", "oauth-authorization-server"].contains(
      path[known.upperBound...].prefix { $0 != "/" })
  }

  private static let issuer = ["$.issuer"].compactMap { try? JSONPath($0) }
  private static let keyID = ["$.keys[*].kid"].compactMap { try? JSONPath($0) }
}
