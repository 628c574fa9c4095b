import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Where a response redirects its request to (RFC 9110, 15.4).
struct Redirection {
  /// The maximum number of redirections to follow.
  static let limit = 20

  private(set) var request: URLRequest
  /// Whether the new request keeps the body.
  let keepsBody: Bool

  /// Nil if the response does not redirect.
  init?(_ request: URLRequest, _ response: HTTPURLResponse) {
    let method = request.httpMethod ?? "GET"
    switch (response.statusCode, method) {
    case (301, "POST"), (302, "POST"): keepsBody = false
    case (303, _): keepsBody = method == "HEAD"
    case (301, _), (302, _), (307, _), (308, _): keepsBody = true
    default: return nil
    }
    guard let old = response.url, let location = response.value(forHTTPHeaderField: "Location"),
      let url = URL(string: location, relativeTo: old)?.absoluteURL,
      ["http", "https"].contains(url.scheme?.lowercased())
    else { return nil }
    self.request = request
    self.request.url = url
    // Each URL has its own cookies.
    self.request.setValue(nil, forHTTPHeaderField: "Cookie")
    if (url.scheme, url.host, url.port) != (old.scheme, old.host, old.port) {
      self.request.setValue(nil, forHTTPHeaderField: "Authorization")
    }
    guard !keepsBody else { return }
    self.request.httpMethod = "GET"
    self.request.httpBody = nil
    self.request.httpBodyStream = nil
    for name in ["Content-Type", "Content-Length"] { self.request.setValue(nil, forHTTPHeaderField: name) }
  }
}
