package import HTTPMessages

/// The absolute URL of a recorded request, taken apart.
package struct RecordedURL {
  /// What stands before the target: scheme, `://` and authority; empty where the URL is none.
  let base: Substring
  /// The path as it is written, `/` where it is empty.
  package let path: Substring
  /// What follows the `?`; nil without one.
  package let query: Substring?

  /// - Parameter url: absolute; of anything else the whole is the path.
  package init(_ url: String) {
    let whole = url.utf8.prefix { $0 != UInt8(ascii: "#") }
    var start = whole.startIndex
    let delimiters = ":/?".utf8
    if let colon = whole.firstIndex(where: { delimiters.contains($0) }), whole[colon...].starts(with: "://".utf8) {
      let host = whole.index(colon, offsetBy: 3)
      start = whole[host...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? whole.endIndex
    }
    base = Substring(whole[..<start])
    let mark = whole[start...].firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
    let path = whole[start..<mark]
    self.path = path.isEmpty ? "/" : Substring(path)
    query = mark == whole.endIndex ? nil : Substring(whole[mark...].dropFirst())
  }

  /// The backend; nil where the URL is none.
  package var origin: Origin? {
    var text = String(base)
    // User information is no part of an origin.
    if let at = base.utf8.lastIndex(of: UInt8(ascii: "@")), let scheme = base.firstRange(of: "://") {
      text = "\(base[..<scheme.upperBound])\(base[at...].dropFirst())"
    }
    return try? Origin(parsing: text)
  }

  /// Path and query, as a request's target has them.
  package var target: String {
    query.map { "\(path)?\($0)" } ?? String(path)
  }
}

extension String {
  /// A URL without `user:password@`.
  package var withoutUserInformation: String {
    guard let mark = utf8.firstRange(of: "://".utf8) else { return self }
    let authority = utf8[mark.upperBound...].prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return self }
    return String(self[..<mark.upperBound]) + String(self[utf8.index(after: at)...])
  }
}
