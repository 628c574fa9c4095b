/// The keywords of a language.
package struct GherkinDialect: Sendable {
  /// A keyword, in UTF-8 for lines to be compared with.
  struct Keyword: Sendable {
    let text: String
    let bytes: [UInt8]

    init(_ text: String) {
      self.text = text
      bytes = Array(text.utf8)
    }
  }

  /// The code of the language, such as `en`.
  package let language: String
  let feature, rule, background, scenario, examples: [Keyword]
  /// A keyword that starts with another comes before it.
  let steps: [(keyword: Keyword, type: StepKeywordType)]

  /// - Parameter language: a code, such as `en`.
  package init?(_ language: String) {
    guard let line = Self.lines[language] else { return nil }
    let lists = line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst()
      .map { $0.split(separator: "|").map { Keyword(String($0)) } }
    self.language = language
    feature = lists[5]
    rule = lists[6]
    background = lists[7]
    scenario = lists[8] + lists[9]
    examples = lists[10]
    var steps: [(keyword: Keyword, type: StepKeywordType)] = []
    for (keywords, type) in zip(lists, [StepKeywordType.context, .action, .outcome, .conjunction, .conjunction]) {
      for keyword in keywords {
        if let known = steps.firstIndex(where: { $0.keyword.bytes == keyword.bytes }) {
          steps[known].type = .unknown
        } else {
          steps.append((keyword, type))
        }
      }
    }
    self.steps = steps.sorted { $0.keyword.bytes.count > $1.keyword.bytes.count }
  }

  /// Keywords followed by a colon, and step keywords without trailing spaces.
  package var keywords: (titles: [String], steps: [String]) {
    let titles = [feature, rule, background, scenario, examples].flatMap { $0.map(\.text) }
    return (titles, steps.map { String($0.keyword.text.reversed().drop { $0 == " " }.reversed()) })
  }

  /// The codes of all languages, sorted.
  package static var languages: [String] { lines.keys.sorted() }

  /// The line of each language.
  private static let lines: [String: Substring] = {
    var lines: [String: Substring] = [:]
    for line in gherkinLanguages.split(separator: "\n") { lines[String(line.prefix { $0 != "\t" })] = line }
    return lines
  }()
}
