import Basics

/// Names the place of a rule that cannot be used, and knows how many rules there may be, and how long.
struct RulePlaces {
  /// Where the rules stand: a member, a file.
  let source: String
  /// The most rules of one kind.
  let limit: Int
  /// The most bytes of one of them.
  private static let textLimit = 4096

  /// The error for a place such as `json[3]`.
  func failure(_ place: String, _ problem: String) -> CodedError {
    CodedError(.usage, "\(source): $.\(place): \(problem)")
  }

  /// - Throws: a ``CodedError`` where there are too many.
  func check(count: Int, _ place: String, _ noun: String = "rules") throws(CodedError) {
    guard count <= limit else { throw failure(place, "\(count) \(noun) are more than \(limit)") }
  }

  /// - Throws: a ``CodedError`` where it is too long.
  func check(_ text: String, _ place: String, atMost limit: Int = textLimit) throws(CodedError) {
    guard text.utf8.count <= limit else { throw failure(place, "it has \(text.utf8.count) bytes, more than \(limit)") }
  }
}
