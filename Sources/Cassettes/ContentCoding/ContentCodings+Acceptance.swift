extension ContentCodings {
  /// Whether a client that sent this `Accept-Encoding` wants a body under these codings (RFC 9110, 12.5.3).
  ///
  /// Stricter than the RFC in one point: without the field any coding would be allowed, but who does not ask for one
  /// may not be able to undo it, so that only the body without coding is accepted then.
  ///
  /// - Parameters:
  ///   - codings: those of the response.
  ///   - acceptEncoding: the values of all `Accept-Encoding` fields, joined with commas; nil without any.
  /// - Returns: whether each of them is named, or covered by `*`, with a weight above 0.
  package static func isAccepted(_ codings: ContentCodings, by acceptEncoding: String?) -> Bool {
    let weights = weights(in: acceptEncoding ?? "")
    guard !codings.isIdentity else {
      return weights["identity"] ?? weights["*"] ?? true
    }
    return codings.codings.allSatisfy { weights[$0.name] ?? weights["*"] ?? false }
  }

  /// Each coding named, and whether its weight is above 0.
  private static func weights(in value: String) -> [String: Bool] {
    var weights: [String: Bool] = [:]
    for element in elements(of: value) {
      let parts = element.split(separator: ";", omittingEmptySubsequences: false).map(trim)
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      let name = parts[0] == "x-gzip" ? "gzip" : String(parts[0])
      weights[name] = weight.map { (Double($0) ?? 0) > 0 } ?? true
    }
    return weights
  }

  /// The elements of a comma-separated list in lower case, without white space and empty ones.
  static func elements(of value: String) -> [String] {
    value.lowercased().split(separator: ",").map { String(trim($0)) }.filter { !$0.isEmpty }
  }

  private static func trim(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
