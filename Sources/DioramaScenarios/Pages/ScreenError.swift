/// An error of a screen, a page object or a wait.
///
/// ``description`` says what was expected or tried, what the screen shows, and what to do next.
public struct ScreenError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The categories of errors.
  public enum Kind: Sendable {
    /// An invalid argument, or a page object on a screen of another kind.
    case usage
    /// The program that shows the screen could not be started.
    case notStarted
    /// A condition did not become true in time, or the program did not answer in time.
    case timedOut
    /// A page object was created, but its page is not presented.
    case notPresented
    /// There is no such element on the screen, or it cannot be used.
    case notFound
    /// A script that was evaluated in a page failed.
    case script
    /// The page could not be opened.
    case notOpened
    /// The program that shows the screen ended or crashed.
    case ended
  }

  /// The category of the error.
  public let kind: Kind
  /// What happened, what the screen shows, and what to do next.
  public let description: String

  /// Creates an error, for a screen of your own.
  ///
  /// - Parameters:
  ///   - kind: the category.
  ///   - description: what happened, and what to do next.
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// A screen's text as indented lines at the end of a message; long text is cut.
  package static func seen(_ text: String) -> String {
    let limit = 40
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { $0.trimmingSuffix { $0.isWhitespace } }
      .drop { $0.isEmpty }.reversed().drop { $0.isEmpty }.reversed()
    guard !lines.isEmpty else { return "; the screen is empty" }
    let cut = lines.count > limit ? "\n    … \(lines.count - limit) more lines" : ""
    return "; the screen shows:\n" + lines.prefix(limit).map { "    \($0)" }.joined(separator: "\n") + cut
  }
}

extension Substring {
  fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
    var rest = self
    while let last = rest.last, predicate(last) { rest.removeLast() }
    return rest
  }
}
