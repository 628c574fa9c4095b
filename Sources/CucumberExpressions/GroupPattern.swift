import Foundation

/// A regular expression that knows how its capture groups nest.
///
/// It is an `NSRegularExpression`: unlike Swift's `Regex`, it is `Sendable`, its searches can be limited, and it has
/// look-behinds on all platforms. Its ICU syntax is close to that of Java, where Cucumber comes from.
struct GroupPattern: Sendable {
  /// A capture group in the source.
  struct Group: Sendable {
    /// The source between the parentheses.
    let source: String
    let children: [Group]
  }

  /// After every 10,000 steps or so, ICU reports progress: a search ends after some seconds at most, and after the same
  /// number of steps on any machine.
  private static let maximumReports = 1_000
  /// Trees of groups are built by recursion.
  private static let maximumDepth = 64

  let source: String
  /// The outermost capture groups; groups in non-capturing ones belong to the next capturing group around them.
  let groups: [Group]
  private let expression: NSRegularExpression
  private let whole: NSRegularExpression

  /// - Throws: ``ExpressionError`` if the source is not valid.
  init(_ source: String) throws(ExpressionError) {
    self.source = source
    do {
      // The first, so that unbalanced parentheses cannot close the group that is added.
      expression = try NSRegularExpression(pattern: source)
      whole = try NSRegularExpression(pattern: #"\A(?:\#(source))\z"#)
    } catch {
      throw ExpressionError("'\(source)' is not a valid regular expression; check its parentheses and quantifiers")
    }
    groups = try Self.groups(of: source)
    guard Self.count(groups) == expression.numberOfCaptureGroups else {
      throw ExpressionError(
        "the groups of the regular expression '\(source)' are not supported; write it without \\Q and comments")
    }
  }

  /// Matches the whole text.
  ///
  /// - Returns: the group for the whole text, with one child for each of ``groups``, or nil.
  /// - Throws: ``ExpressionError`` if the search takes too many steps.
  func match(_ text: String) throws(ExpressionError) -> Argument.Group? {
    guard let result = try search(whole, text, from: 0, where: { _ in true }) else { return nil }
    var number = 0
    func build(_ children: [Group]) -> Argument.Group {
      let range = result.range(at: number)
      number += 1
      return Argument.Group(text, range, children: children.map { build($0.children) })
    }
    return build(groups)
  }

  /// Finds the first suitable match.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - start: where to start, in UTF-16 code units. The text seems to begin there.
  ///   - isSuitable: whether the range will do.
  /// - Returns: the range, in UTF-16 code units, or nil.
  /// - Throws: ``ExpressionError`` if the search takes too many steps.
  func firstRange(
    in text: String, from start: Int, where isSuitable: (NSRange) -> Bool
  ) throws(ExpressionError) -> NSRange? {
    try search(expression, text, from: start, where: isSuitable)?.range
  }

  private func search(
    _ expression: NSRegularExpression, _ text: String, from start: Int, where isSuitable: (NSRange) -> Bool
  ) throws(ExpressionError) -> NSTextCheckingResult? {
    var found: NSTextCheckingResult?
    var reports = 0
    var isOverflown = false
    withoutActuallyEscaping(isSuitable) { isSuitable in
      expression.enumerateMatches(
        in: text, options: [.reportProgress, .reportCompletion],
        range: NSRange(location: start, length: text.utf16.count - start)
      ) { result, flags, stop in
        if let result, isSuitable(result.range) {
          found = result
          stop.pointee = true
        } else if flags.contains(.progress) {
          reports += 1
          if reports > Self.maximumReports { stop.pointee = true }
        } else if flags.contains(.internalError) {
          // ICU's stack is limited.
          isOverflown = true
        }
      }
    }
    guard found != nil || !isOverflown && reports <= Self.maximumReports else {
      throw ExpressionError(
        "'\(source.prefix(80))' takes too long to match '\(text.prefix(80))'; avoid adjacent or nested repetitions")
    }
    return found
  }

  private static func count(_ groups: [Group]) -> Int { groups.reduce(0) { $0 + 1 + count($1.children) } }

  private static func groups(of source: String) throws(ExpressionError) -> [Group] {
    let scalars = Array(source.unicodeScalars)
    /// The open parentheses, with the groups in them; at first the whole source.
    var open: [(start: Int, isCapturing: Bool, children: [Group])] = [(0, false, [])]
    var setDepth = 0
    var index = 0
    while index < scalars.count {
      switch scalars[index] {
      case "\\": index += 1
      case "[":
        setDepth += 1
        // A bracket that comes first, also after `^`, is a character.
        if index + 1 < scalars.count, scalars[index + 1] == "^" { index += 1 }
        if index + 1 < scalars.count, scalars[index + 1] == "]" { index += 1 }
      case "]": setDepth = max(0, setDepth - 1)
      case "(" where setDepth == 0:
        guard open.count <= maximumDepth else {
          throw ExpressionError(
            "'\(source.prefix(80))' has more than \(maximumDepth) nested groups; write it in a simpler way")
        }
        let next = String(String.UnicodeScalarView(scalars[index...].dropFirst().prefix(3)))
        let isNamed = next.hasPrefix("?<") && next != "?<=" && next != "?<!"
        open.append((index + 1, isNamed || !next.hasPrefix("?"), []))
      case ")" where setDepth == 0 && open.count > 1:
        let group = open.removeLast()
        let groups =
          group.isCapturing
          ? [Group(source: String(String.UnicodeScalarView(scalars[group.start..<index])), children: group.children)]
          : group.children
        open[open.count - 1].children += groups
      default: break
      }
      index += 1
    }
    return open[0].children
  }
}

extension String {
  /// The text as a regular expression that matches just this.
  package var escapedForRegularExpression: String {
    var escaped = ""
    for scalar in unicodeScalars {
      if #"^$[](){}.|?*+\"#.unicodeScalars.contains(scalar) { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
    }
    return escaped
  }
}
