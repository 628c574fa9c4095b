import Cassettes

/// The `Set-Cookie` fields of one recorded response.
package struct RecordedSetCookies: Sendable {
  package var upstream: Int
  /// The target of the request.
  package var target: String
  package var fields: [String]

  package init(upstream: Int, target: String = "/", fields: [String]) {
    self.upstream = upstream
    self.target = target
    self.fields = fields
  }
}

/// The parts of a `Set-Cookie` field that determine which upstreams a cookie belongs to (RFC 6265, section 5.2).
package struct SetCookie {
  package let name: String
  let value: String
  package private(set) var domain: String?
  private var path: String?
  /// Whether the field deletes the cookie.
  package private(set) var isGone = false

  /// Returns nil if the field has neither a name nor a value.
  ///
  /// - Parameters:
  ///   - field: the value of `Set-Cookie`.
  ///   - date: the `Date` field of the response. A cookie that expires at or before this date is deleted.
  package init?(_ field: String, date: String? = nil) {
    let parts = field.split(separator: ";", omittingEmptySubsequences: false)
    let equals = parts[0].firstIndex(of: "=")
    name = equals.map { parts[0][..<$0].trimmingBlanks } ?? ""
    value = (equals.map { parts[0][$0...].dropFirst() } ?? parts[0]).trimmingBlanks
    guard !(name.isEmpty && value.isEmpty) else { return nil }
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let content = pair.count == 2 ? pair[1].trimmingBlanks : ""
      switch pair[0].trimmingBlanks.lowercased() {
      case "domain":
        let bare = content.lowercased().drop { $0 == "." }
        domain = bare.isEmpty ? nil : String(bare)
      case "path": path = content.hasPrefix("/") ? content : nil
      case "max-age": isGone = Int(content).map { $0 <= 0 } ?? isGone
      // Deleted if dated to 1970 or before the response. Our own clock may be stopped, so it is not used.
      case "expires":
        guard let end = HAR.cookieDate(content) else { break }
        isGone = isGone || end.hasPrefix("1970") || (date.flatMap(HAR.cookieDate).map { end <= $0 } ?? false)
      default: break
      }
    }
  }

  /// The path that a cookie jar stores: the cookie's own, or else the request path up to its last slash (RFC 6265,
  /// section 5.1.4).
  func path(in target: String) -> String {
    if let path { return path }
    let target = target.prefix { $0 != "?" }
    guard let slash = target.lastIndex(of: "/"), slash > target.startIndex else { return "/" }
    return String(target[..<slash])
  }

  /// Whether a cookie with this path is sent with a request (RFC 6265, section 5.1.4).
  static func path(_ path: String?, covers target: String) -> Bool {
    guard let path, path != "/" else { return true }
    let target = target.prefix { $0 != "?" }
    guard target.hasPrefix(path) else { return false }
    return path.hasSuffix("/") || target.utf8.count == path.utf8.count || target.dropFirst(path.count).first == "/"
  }
}
