import EnvironmentConfiguration
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
    /// The part of a long help in which it stands.
    var group = CommandOption.Group.output

    init(_ name: String, _ value: String? = nil, _ help: String, in group: CommandOption.Group = .output) {
      self.name = name
      self.value = value
      self.help = help
      self.group = group
    }

    /// The option of a setting.
    init(_ option: CommandOption, help: String) {
      self.init(option.name, option.metavariable, help, in: option.group)
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

  /// The lines of a help text about the options, at most 80 columns wide.
  static func describe(_ table: [Option]) -> String {
    let lefts = table.map { $0.name + ($0.value.map { " \($0)" } ?? "") }
    let width = min(lefts.map(\.count).max() ?? 0, 22)
    let indentation = String(repeating: " ", count: width + 4)
    return zip(lefts, table).map { left, option in
      let padding =
        left.count > width ? "\n\(indentation)" : String(repeating: " ", count: width - left.count + 2)
      let lines = option.help.split(separator: "\n", omittingEmptySubsequences: false)
        .flatMap { wrapped(String($0), to: 80 - indentation.count) }
      return "  \(left)\(padding)\(lines.joined(separator: "\n\(indentation)"))\n"
    }.joined()
  }

  /// The same in groups, each under its title.
  static func describeGroups(_ table: [Option]) -> String {
    CommandOption.Group.allCases.compactMap { group in
      let options = table.filter { $0.group == group }
      return options.isEmpty ? nil : "\(group.rawValue):\n\(describe(options))"
    }.joined(separator: "\n")
  }

  /// Lines of a text, broken at spaces; a line that is a row of a list continues under its second column.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    guard text.count > width else { return [text] }
    let column = text.firstRange(of: "  ").map { range in
      text.distance(from: text.startIndex, to: text[range.lowerBound...].firstIndex { $0 != " " } ?? text.startIndex)
    }
    let indentation = String(repeating: " ", count: column ?? 0)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = indentation + word
      } else {
        line += lines.isEmpty && line.isEmpty ? String(word) : " \(word)"
      }
    }
    return lines + [line]
  }
}

extension Options {
  /// The names that a repeatable option gives to ports.
  func names(_ option: String, command: String) throws(UsageError) -> [String] {
    let names = all(option)
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw UsageError("\(option) needs a name", command: command) }
      guard !names[..<index].contains(name) else {
        throw UsageError("\(option) \(name) is given twice", command: command)
      }
    }
    return names
  }

  /// A number of seconds, which may have a fraction.
  func seconds(_ option: String, upTo most: Double, command: String) throws(UsageError) -> Double? {
    guard let text = value(option) else { return nil }
    guard let seconds = Double(text), seconds > 0, seconds <= most else {
      throw UsageError("\(option) takes seconds, such as 30 or 0.5, not '\(text)'", command: command)
    }
    return seconds
  }
}

/// Splits `NAME=VALUE`.
func pair(_ text: String, option: String, command: String) throws(UsageError) -> (name: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw UsageError("\(option) takes NAME=VALUE, not '\(text)'", command: command)
  }
  return (String(text[..<equals]), String(text[text.index(after: equals)...]))
}
