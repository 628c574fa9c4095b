import HTTPMessages

/// Redacts header fields by name.
package enum HeaderRedaction {
  /// Fields that carry credentials by design and are redacted unless `keep` names them: HTTP's own fields, fields that
  /// API gateways and cloud services document for keys and tokens, and CSRF tokens.
  package static let defaults: [String] = [
    "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Set-Cookie", "Set-Cookie2",
    "Api-Key", "ApiKey", "X-Api-Key", "X-ApiKey", "X-Api-Token", "X-Api-Secret", "X-App-Key", "X-App-Token",
    "X-Auth-Key", "X-Auth-Token", "X-Authentication-Token", "X-Authorization", "X-Access-Key", "X-Access-Token",
    "Access-Token", "Auth-Token", "X-Client-Secret", "X-Id-Token", "X-Refresh-Token", "X-Secret-Key", "X-Secret-Token",
    "X-Security-Token", "X-Service-Token", "X-Session-Token", "X-Token", "X-User-Token", "X-Subject-Token",
    "CSRF-Token", "X-CSRF-Token", "X-CSRFToken", "X-XSRF-Token",
    "X-Forwarded-Access-Token", "X-Forwarded-Authorization", "X-Original-Authorization",
    "X-Serverless-Authorization", "X-Amz-Security-Token", "X-Aws-Ec2-Metadata-Token", "X-Goog-Api-Key",
    "X-Goog-IAM-Authorization-Token", "Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Ms-Authorization-Auxiliary",
    "X-RapidAPI-Key", "X-Vault-Token", "X-Consul-Token", "X-Kubernetes-Token", "Private-Token", "Job-Token",
    "Deploy-Token", "X-Gitlab-Token", "X-GitHub-Token", "X-JFrog-Art-Api", "X-NuGet-ApiKey", "X-Algolia-API-Key",
    "X-Shopify-Access-Token", "X-Shopify-Storefront-Access-Token", "X-Figma-Token", "X-Rollbar-Access-Token",
    "X-Postmark-Server-Token", "X-Postmark-Account-Token", "X-Parse-REST-API-Key", "X-Parse-Master-Key",
    "X-Parse-Session-Token", "DD-API-KEY", "DD-APPLICATION-KEY", "X-Honeycomb-Team", "X-Insert-Key", "X-License-Key",
    "X-Plex-Token", "X-Storage-Token", "X-Trello-Token", "Circle-Token",
  ]

  package static let defaultNames = Set(defaults.map { $0.lowercased() })
  private static let authorizations: Set<String> = [
    "authorization", "proxy-authorization", "x-authorization", "x-forwarded-authorization", "x-original-authorization",
    "x-serverless-authorization", "x-ms-authorization-auxiliary",
  ]
  /// Fields whose values are URLs. Marks in them are percent-encoded.
  package static let addresses: Set<String> = ["location", "content-location", "referer", "origin", "refresh", "link"]
  /// Fields whose whole value is one URL.
  package static let wholeAddresses: Set<String> = ["location", "content-location", "referer", "origin"]
  /// Digests of a body. They do not match a redacted body, and would reveal a weak secret.
  package static let digests: Set<String> = ["content-md5", "digest", "content-digest", "repr-digest"]

  /// Redacts the value of a default field. Authorization schemes, cookie names and `Set-Cookie` attributes stay.
  package static func redact(_ value: String, of name: String) -> String {
    switch name {
    case "cookie", "cookie2": cookies(value)
    case "set-cookie", "set-cookie2": setCookie(value)
    case _ where authorizations.contains(name): authorization(value)
    default: value.isEmpty ? value : RedactionMark.plain.text
    }
  }

  /// The secret part of a field's value, without the authorization scheme.
  package static func secret(in value: String, of name: String) -> String {
    guard authorizations.contains(name), let space = value.firstIndex(of: " ") else { return value }
    let rest = value[space...].drop { $0 == " " }
    return rest.isEmpty ? value : String(rest)
  }

  /// `Bearer <redacted>`.
  private static func authorization(_ value: String) -> String {
    guard !value.isEmpty else { return value }
    guard let space = value.firstIndex(of: " "), space > value.startIndex,
      value[..<space].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    else { return RedactionMark.plain.text }
    return "\(value[..<space]) \(RedactionMark.plain.text)"
  }

  /// `a=<redacted>; b=<redacted>`.
  private static func cookies(_ value: String) -> String {
    value.split(separator: ";", omittingEmptySubsequences: false).map { cookie($0) }.joined(separator: ";")
  }

  /// `a=<redacted>; Path=/; Secure`.
  private static func setCookie(_ value: String) -> String {
    let parts = value.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
    return cookie(parts[0]) + (parts.count == 2 ? ";\(parts[1])" : "")
  }

  private static func cookie(_ pair: Substring) -> String {
    guard let equals = pair.firstIndex(of: "=") else {
      // Browsers treat a pair without `=` as a value.
      guard pair.contains(where: { !$0.isWhitespace }) else { return String(pair) }
      return pair.prefix(while: \.isWhitespace) + RedactionMark.plain.text
    }
    // An empty value deletes the cookie.
    let value = pair[pair.index(after: equals)...]
    return value.allSatisfy(\.isWhitespace) ? String(pair) : pair[...equals] + RedactionMark.plain.text
  }
}
