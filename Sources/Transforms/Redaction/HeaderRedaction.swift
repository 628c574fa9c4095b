import HTTPMessages

/// What goes from header fields by their names.
package enum HeaderRedaction {
  /// Fields that carry credentials by their purpose, and go unless `keep` names them: HTTP's own, those that API gateways
  /// and clouds document for keys and tokens, and the tokens against forged requests.
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
  /// Their values are addresses, in which marks are percent-encoded.
  package static let addresses: Set<String> = ["location", "content-location", "referer", "origin", "refresh", "link"]
  /// Digests of a body: they do not fit one that is redacted, and of a weak secret they would tell.
  package static let digests: Set<String> = ["content-md5", "digest", "content-digest", "repr-digest"]

  /// A default field's value without what is secret in it: a scheme, cookies' names and a cookie's attributes stay.
  package static func redact(_ value: String, of name: String) -> String {
    switch name {
    case "cookie", "cookie2": cookies(value)
    case "set-cookie", "set-cookie2": setCookie(value)
    case _ where authorizations.contains(name): authorization(value)
    default: value.isEmpty ? value : RedactionMark.plain.text
    }
  }

  /// What of a field's value is the secret itself: not an authorization's scheme.
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
      // Browsers take a pair without `=` for a value.
      guard pair.contains(where: { !$0.isWhitespace }) else { return String(pair) }
      return pair.prefix(while: \.isWhitespace) + RedactionMark.plain.text
    }
    // An empty one says that the cookie is gone.
    let value = pair[pair.index(after: equals)...]
    return value.allSatisfy(\.isWhitespace) ? String(pair) : pair[...equals] + RedactionMark.plain.text
  }
}
