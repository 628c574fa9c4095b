import Basics
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

extension CodedError {
  /// Invalid command-line arguments.
  ///
  /// - Parameters:
  ///   - message: what is wrong, and where.
  ///   - command: the command whose `--help` the error refers to.
  init(usage message: String, command: String? = nil) {
    let words = ["diorama", command ?? "", "--help"].filter { !$0.isEmpty }
    self.init(.usage, message + (message.hasSuffix("?") ? " See " : "; see ") + words.joined(separator: " "))
  }
}

/// The word that was probably meant, as an addition to an error message; an empty string if none is close.
func suggestion(for word: String, among words: [String]) -> String {
  EditDistance.likely(word, among: words).map { "; did you mean '\($0)'?" } ?? ""
}

/// Parsed command-line arguments. A small stand-in for swift-argument-parser.
struct Options {
  /// An option with its placeholder and help text.
  struct Option {
    let name: String
    /// The placeholder for the value in the help; nil for a flag. One such as `[=KIND]` can be left out, and then means
    /// the first of ``choices``.
    let value: String?
    let help: String
    /// The section of a grouped help text.
    let group: CommandOption.Group
    /// The words that its value can be; empty for other values.
    let choices: [String]

    init(
      _ name: String, _ value: String? = nil, _ help: String, in group: CommandOption.Group = .output,
      choices: [String] = []
    ) {
      self.name = name
      self.value = value
      self.help = help
      self.group = group
      self.choices = choices
    }

    /// The option of a setting; nil if it has none.
    init?(_ member: ObjectRule.Member) {
      guard let option = member.option else { return nil }
      self.init(
        option.name, option.metavariable, option.help ?? member.note, in: option.group, choices: member.schema.words)
    }

    /// Whether the value can be left out. It then has to follow a `=`.
    var isValueOptional: Bool { value?.hasPrefix("[=") ?? false }

    /// Whether a value has to follow.
    var needsValue: Bool { value != nil && !isValueOptional }

    /// The option as the help shows it.
    var usage: String { name + (value.map { isValueOptional ? $0 : " \($0)" } ?? "") }

    /// Whether its value is a file or folder.
    var takesFile: Bool {
      value.map { $0.hasPrefix("FILE") || $0.hasPrefix("PATH") || $0.hasPrefix("DIR") || $0.hasPrefix("REPORT") }
        ?? false
    }
  }

  /// The arguments as they were given.
  let arguments: [String]
  /// Values by option, in the order given. A flag has one empty value.
  private(set) var values: [String: [String]] = [:]
  /// Arguments that belong to no option.
  private(set) var operands: [String] = []
  /// The options with their values, as they were written.
  private var given: [(option: Option, words: ArraySlice<String>)] = []
  /// The arguments after `--`; nil without `--`.
  private(set) var rest: [String]?

  /// Parses arguments.
  ///
  /// An option takes the next argument, even if that begins with `-`. `--name=value` works, too.
  init(_ arguments: [String], table: [Option], command: String) throws(CodedError) {
    self.arguments = arguments
    var index = 0
    while index < arguments.count {
      let word = arguments[index]
      let start = index
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
        throw CodedError(
          usage: "unknown option \(name)" + suggestion(for: name, among: table.map(\.name)), command: command)
      }
      if option.value == nil {
        guard inline == nil else { throw CodedError(usage: "\(name) takes no value", command: command) }
        values[name] = [""]
      } else if let inline {
        values[name, default: []].append(inline)
      } else if option.isValueOptional {
        values[name, default: []].append(option.choices.first ?? "")
      } else {
        // A lone -- starts the command; it is not the option's value.
        guard index < arguments.count, arguments[index] != "--" || arguments[(index + 1)...].contains("--") else {
          throw CodedError(usage: "\(name) needs a value (\(option.value ?? ""))", command: command)
        }
        values[name, default: []].append(arguments[index])
        index += 1
      }
      given.append((option, arguments[start..<index]))
    }
  }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option; if it was given repeatedly, the last one.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of a repeatable option.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// Options as they were given, in their order, each with its value and quoted for a shell.
  ///
  /// - Parameter isIncluded: whether to return an option.
  /// - Returns: one text for each use of an option.
  func given(_ isIncluded: (Option) -> Bool) -> [String] {
    given.filter { isIncluded($0.option) }.map { $0.words.map(ShellWord.quoted).joined(separator: " ") }
  }

  /// The options' part of a help text, in 80 columns.
  static func describe(_ table: [Option]) -> String {
    let lefts = table.map(\.usage)
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

  /// The options' part of a help text. Several groups get titles.
  static func describeGroups(_ table: [Option]) -> String {
    let groups = groups(of: table)
    guard groups.count > 1 else { return describe(table) }
    return groups.map { "\($0.title):\n\(describe($0.options))" }.joined(separator: "\n")
  }

  /// The groups of options with their titles.
  static func groups(of table: [Option]) -> [(title: String, options: [Option])] {
    CommandOption.Group.allCases.compactMap { group in
      let options = table.filter { $0.group == group }
      return options.isEmpty ? nil : (group.rawValue, options)
    }
  }

  /// Breaks a line between words. A line with columns of aligned text continues in its second column.
  static func wrapped(_ text: String, to width: Int) -> [String] {
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
  /// The port names given by a repeatable option.
  func names(_ option: String, command: String) throws(CodedError) -> [String] {
    let names = all(option)
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw CodedError(usage: "\(option) needs a name", command: command) }
      guard UInt16(name) == nil else {
        throw CodedError(
          usage: "\(option) \(name): give a name such as web, not a number; diorama chooses a free port",
          command: command)
      }
      guard !names[..<index].contains(name) else {
        throw CodedError(usage: "\(option) \(name) is given twice", command: command)
      }
    }
    return names
  }

  /// The value of an option that must be one of some words.
  func choice(_ option: String, from words: [String], command: String) throws(CodedError) -> String? {
    guard let text = value(option) else { return nil }
    if let problem = TextRule(.word(words), count: 0...64).problem(with: text) {
      throw CodedError(usage: "\(option): \(problem)", command: command)
    }
    return text
  }

  /// The value of an option that is a whole number.
  func number(_ option: String, _ range: ClosedRange<Int>, command: String) throws(CodedError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), range ~= number else {
      throw CodedError(
        usage: "\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'",
        command: command)
    }
    return number
  }

  /// The value of an option in seconds, with an optional fraction.
  func seconds(_ option: String, upTo most: Double, command: String) throws(CodedError) -> Double? {
    guard let text = value(option) else { return nil }
    guard let seconds = Double(text), seconds > 0, seconds <= most else {
      throw CodedError(
        usage: "\(option) takes seconds, more than 0 and at most \(Int(most)), such as 30 or 0.5, not '\(text)'",
        command: command)
    }
    return seconds
  }
}

/// Splits `NAME=VALUE`, or what the form calls it.
func pair(
  _ text: String, option: String, form: String = "NAME=VALUE", command: String
) throws(CodedError) -> (name: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw CodedError(usage: "\(option) takes \(form), not '\(text)'", command: command)
  }
  return (String(text[..<equals]), String(text[text.index(after: equals)...]))
}

/// The owner of ports or an environment: `--owner PID`, `--ttl SECONDS`, or by default the calling process.
struct OwnerOptions {
  static let table: [Options.Option] = [
    .init(
      "--owner", "PID",
      "the process whose end ends it (default: the calling process, for $(…) the shell; with a wrapper such as timeout, use --owner $$)"
    ),
    .init("--ttl", "SECONDS", "end it after this time, instead of with an owner"),
  ]

  var owner: Owner?
  var seconds: Double?

  /// - Parameters:
  ///   - options: the command's.
  ///   - isRemote: whether the daemon is on another machine, which can't watch processes of this one.
  ///   - command: the command whose help an error names.
  /// - Throws: ``CodedError``.
  init(_ options: Options, isRemote: Bool = false, command: String) throws(CodedError) {
    seconds = try options.seconds("--ttl", upTo: 1e9, command: command)
    guard let text = options.value("--owner") else {
      owner = seconds == nil && !isRemote ? Owner(pid: CallingProcess.pid) : nil
      return
    }
    guard let pid = Int32(text), pid > 0 else {
      throw CodedError(usage: "--owner takes a process id, not '\(text)'", command: command)
    }
    guard !isRemote else {
      throw CodedError(
        usage: "--owner: the daemon on another machine cannot watch processes of this one; use --ttl", command: command)
    }
    owner = Owner(pid: pid)
  }
}

/// Command-line arguments as bytes, since file names need not be UTF-8.
enum RawWords {
  /// The last arguments of this process.
  static func lastArguments(_ count: Int) -> [[UInt8]] {
    let all = (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0].map(bytes) }
    return all.suffix(count)
  }

  /// Checks the arguments up to `--`, which are decoded as text.
  ///
  /// - Throws: ``CodedError`` for one that is not UTF-8: it would name another file than the user meant.
  static func checkEncoding() throws(CodedError) {
    for (index, bytes) in lastArguments(Int(CommandLine.argc)).enumerated() where index > 0 {
      if bytes == Array("--".utf8) { return }
      guard String(validating: bytes, as: UTF8.self) == nil else { continue }
      throw CodedError(
        usage: "argument \(index) is not UTF-8: '\(String(decoding: bytes, as: UTF8.self))'; rename the file")
    }
  }

  private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:)))
  }
}
