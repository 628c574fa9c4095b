import LaunchContract

/// What the caller typed cannot be understood (exit status 64).
struct UsageError: Error {
  /// One line: what and where.
  let message: String
  /// The command whose help would show more.
  let command: String?

  init(_ message: String, command: String? = nil) {
    self.message = message
    self.command = command
  }
}

/// The closest word, as an addition to an error; empty when none is close.
func suggestion(for word: String, among words: [String]) -> String {
  guard let nearest = EditDistance.nearest(to: word, among: words).first,
    EditDistance.between(word, nearest) <= max(2, word.count / 3)
  else { return "" }
  return "; did you mean \(nearest)?"
}

/// A command line, read by a table of options. It stands in for swift-argument-parser, which cannot be had where this
/// is built, and stays small so that it can give way to it.
struct Options {
  /// One option: its name, what it takes, and a line for the help.
  struct Option {
    let name: String
    /// What stands for the value in the help; nil for a switch.
    let value: String?
    let help: String

    init(_ name: String, _ value: String? = nil, _ help: String) {
      self.name = name
      self.value = value
      self.help = help
    }
  }

  /// Values by option, in the order given; a switch has one empty value.
  private(set) var values: [String: [String]] = [:]
  /// Words that belong to no option.
  private(set) var operands: [String] = []
  /// What stands after `--`; nil when there is none.
  private(set) var rest: [String]?

  /// Reads a command line.
  ///
  /// An option takes the next argument, whatever that begins with; `--name=value` is understood too.
  init(_ arguments: [String], table: [Option], command: String) throws(UsageError) {
    var index = 0
    while index < arguments.count {
      let word = arguments[index]
      index += 1
      if word == "--" {
        rest = Array(arguments[index...])
        return
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let name = word == "-h" ? "--help" : String(word.prefix { $0 != "=" })
      let inline = word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) }
      if name == "--help" {
        values[name] = [""]
        continue
      }
      guard let option = table.first(where: { $0.name == name }) else {
        throw UsageError(
          "there is no option \(name)" + suggestion(for: name, among: table.map(\.name)), command: command)
      }
      if option.value == nil {
        guard inline == nil else { throw UsageError("\(name) takes no value", command: command) }
        values[name] = [""]
      } else if let inline {
        values[name, default: []].append(inline)
      } else {
        guard index < arguments.count else {
          throw UsageError("\(name) needs a value (\(option.value ?? ""))", command: command)
        }
        values[name, default: []].append(arguments[index])
        index += 1
      }
    }
  }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option that is given once; the last counts.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of an option that may be repeated.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The lines of a help text about the options.
  static func describe(_ table: [Option]) -> String {
    let lefts = table.map { $0.name + ($0.value.map { " \($0)" } ?? "") }
    let width = min(lefts.map(\.count).max() ?? 0, 30)
    return zip(lefts, table).map { left, option in
      let padding =
        left.count > width
        ? "\n" + String(repeating: " ", count: width + 4) : String(repeating: " ", count: width - left.count + 2)
      let indented = option.help.split(separator: "\n", omittingEmptySubsequences: false)
        .joined(separator: "\n" + String(repeating: " ", count: width + 4))
      return "  \(left)\(padding)\(indented)\n"
    }.joined()
  }
}

/// Splits `NAME=VALUE`.
func pair(_ text: String, option: String, command: String) throws(UsageError) -> (name: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw UsageError("\(option) takes NAME=VALUE, not '\(text)'", command: command)
  }
  return (String(text[..<equals]), String(text[text.index(after: equals)...]))
}
