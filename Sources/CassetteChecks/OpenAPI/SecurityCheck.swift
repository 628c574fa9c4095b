import Basics
import Cassettes
import HTTPMessages

/// Checks whether a request has the kinds of credentials that a document requires. Their values are not checked.
struct SecurityCheck {
  private let document: OpenAPIDocument

  init(_ document: OpenAPIDocument) {
    self.document = document
  }

  /// The `WWW-Authenticate` fields for a 401 response; nil if the request satisfies one of the alternatives.
  func challenge(to request: Request, _ operation: OpenAPIDocument.Node) -> Headers? {
    guard let alternatives = (operation["security"] ?? document.root["security"])?.elements, !alternatives.isEmpty
    else {
      return nil
    }
    var challenges: [String] = []
    for alternative in alternatives {
      let missing = alternative.members.compactMap { challenge(of: $0.name, to: request) }
      if missing.isEmpty { return nil }
      challenges += missing.filter { !$0.isEmpty && !challenges.contains($0) }
    }
    return Headers(challenges.map { Headers.Field("WWW-Authenticate", $0) })
  }

  /// The challenge of a scheme whose credentials are missing; empty if the scheme has no challenge, nil if no
  /// credentials are missing.
  private func challenge(of name: String, to request: Request) -> String? {
    var ignored: [OpenAPIDocument.Unsupported] = []
    guard let node = document.root["components"]?["securitySchemes"]?[name],
      let scheme = document.resolved(node, &ignored)?.json
    else { return nil }
    let authorization = request.headers.all("Authorization").map { $0.lowercased() }
    switch scheme["type"]?.string {
    case "http":
      let word = scheme["scheme"]?.string ?? ""
      let isGiven = authorization.contains { $0.hasPrefix(word.lowercased() + " ") }
      return isGiven ? nil : Headers.Field("WWW-Authenticate", word).isSendable ? word : ""
    case "oauth2", "openIdConnect": return authorization.contains { $0.hasPrefix("bearer ") } ? nil : "Bearer"
    case "apiKey":
      let key = scheme["name"]?.string ?? ""
      switch scheme["in"]?.string {
      case "header": return request.headers[key] == nil ? "" : nil
      case "query":
        let query = Array(request.target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
        return query.withUnsafeBytes { QueryItems($0).json[key] } == nil ? "" : nil
      case "cookie":
        let cookies = request.headers.all("Cookie").flatMap { $0.split(separator: ";") }
        return cookies.contains { MediaType.trimmed($0).hasPrefix("\(key)=") } ? nil : ""
      default: return nil
      }
    default: return nil
    }
  }
}
