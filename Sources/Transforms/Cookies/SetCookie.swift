import Cassettes

/// The `Set-Cookie` fields of one recorded answer.
package struct RecordedSetCookies: Sendable {
  package var upstream: Int
  /// Of the request.
  package var target: String
  package var fields: [String]

  package init(upstream: Int, target: String = "/", fields: [String]) {
    self.upstream = upstream
    self.target = target
    self.fields = fields
  }
}

/// What of a `Set-Cookie` field tells whose a cookie is (RFC 6265, 5.2).
package struct SetCookie {
  package let name: String
  let value: String
  package private(set) var domain: String?
  private var path: String?
  /// Whether the field takes the cookie away.
  package private(set) var isGone = false

  /// Nil for one with neither name nor value.
  ///
  /// - Parameters:
  ///   - field: the value of `Set-Cookie`.
  ///   - date: of the answer, as it says: what it dates before that is to go.
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
      // Dated to the beginning of time, or before the answer itself; by our clock, which may stand, nothing is told.
      case "expires":
        guard let end = HAR.cookieDate(content) else { break }
        isGone = isGone || end.hasPrefix("1970") || (date.flatMap(HAR.cookieDate).map { end <= $0 } ?? false)
      default: break
      }
    }
  }

  /// The path for which a jar keeps it: without one of its own that of the request, up to its last slash (RFC 6265, 5.1.4).
  func path(in target: String) -> String {
    if let path { return path }
    let target = target.prefix { $0 != "?" }
    guard let slash = target.lastIndex(of: "/"), slash > target.startIndex else { return "/" }
    return String(target[..<slash])
  }

  /// Whether a cookie with this path goes with a request (RFC 6265, 5.1.4).
  static func path(_ path: String?, covers target: String) -> Bool {
    guard let path, path != "/" else { return true }
    let target = target.prefix { $0 != "?" }
    guard target.hasPrefix(path) else { return false }
    return path.hasSuffix("/") || target.utf8.count == path.utf8.count || target.dropFirst(path.count).first == "/"
  }
}
