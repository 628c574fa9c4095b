/// Checks the number and length of rules, and words the errors for invalid ones.
struct RulePlaces {
  /// Where the rules are written: a member's name or a file.
  let source: String
  /// The maximum number of rules of one kind.
  let limit: Int
  /// The maximum length of a rule in bytes.
  private static let textLimit = 4096

  /// The error for a place such as `json[3]`.
  func failure(_ place: String, _ problem: String) -> EnvironmentError {
    EnvironmentError(.usage, "\(source): $.\(place): \(problem)")
  }

  /// - Throws: an ``EnvironmentError`` if there are too many.
  func check(count: Int, _ place: String, _ noun: String = "rules") throws(EnvironmentError) {
    guard count <= limit else { throw failure(place, "\(count) \(noun); the limit is \(limit)") }
  }

  /// - Throws: an ``EnvironmentError`` if it is too long.
  func check(_ text: String, _ place: String, atMost limit: Int = textLimit) throws(EnvironmentError) {
    guard text.utf8.count <= limit else { throw failure(place, "\(text.utf8.count) bytes long; the limit is \(limit)") }
  }
}
