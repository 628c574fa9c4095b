import Basics
import ControlAPI
import EnvironmentConfiguration
import Foundation
import LaunchContract

extension CodedError {
  /// Invalid command-line arguments.
  ///
  /// - Parameters:
  ///   - message: what is wrong, and where.
  ///   - command: the command whose `--help` the error refers to.
  init(usage message: String, command: String? = nil) {
    self.init(.usage, "\(message); see diorama \(command.map { "\($0) " } ?? "")--help")
  }
}

/// The closest word as an addition to an error message, or an empty string if none is close.
func suggestion(for word: String, among words: [String]) -> String {
  guard let nearest = EditDistance.nearest(to: word, among: words).first,
    EditDistance.between(word, nearest) <= max(2, word.count / 3)
  else { return "" }
  return "; did you mean \(nearest)?"
}

/// Parsed command-line arguments. A small stand-in for swift-argument-parser.
struct Options {
  /// An option with its placeholder and help text.
  struct Option {
    let name: String
    /// The placeholder for the value in the help; nil for a flag.
    let value: String?
    let help: String
    /// The section of a grouped help text.
    var group = CommandOption.Group.output

    init(_ name: String, _ value: String? = nil, _ help: String, in group: CommandOption.Group = .output) {
      self.name = name
      self.value = value
      self.help = help
      self.group = group
    }

    /// An option for a setting.
    init(_ option: CommandOption, help: String) {
      self.init(option.name, option.metavariable, help, in: option.group)
    }
  }

  /// Values by option, in the order given. A flag has one empty value.
  private(set) var values: [String: [String]] = [:]
  /// Arguments that belong to no option.
  private(set) var operands: [String] = []
  /// The arguments after `--`; nil without `--`.
  private(set) var rest: [String]?

  /// Parses arguments.
  ///
  /// An option takes the next argument, even if that begins with `-`. `--name=value` works, too.
  init(_ arguments: [String], table: [Option], command: String) throws(CodedError) {
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
        throw CodedError(
          usage: "unknown option \(name)" + suggestion(for: name, among: table.map(\.name)), command: command)
      }
      if option.value == nil {
        guard inline == nil else { throw CodedError(usage: "\(name) takes no value", command: command) }
        values[name] = [""]
      } else if let inline {
        values[name, default: []].append(inline)
      } else {
        guard index < arguments.count else {
          throw CodedError(usage: "\(name) needs a value (\(option.value ?? ""))", command: command)
        }
        values[name, default: []].append(arguments[index])
        index += 1
      }
    }
  }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The value of an option; if it was given repeatedly, the last one.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of a repeatable option.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The options' part of a help text, in 80 columns.
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

  /// The options' part of a help text, in groups with titles.
  static func describeGroups(_ table: [Option]) -> String {
    CommandOption.Group.allCases.compactMap { group in
      let options = table.filter { $0.group == group }
      return options.isEmpty ? nil : "\(group.rawValue):\n\(describe(options))"
    }.joined(separator: "\n")
  }

  /// Breaks a line between words. A line with columns of aligned text continues in its second column.
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
  /// The port names given by a repeatable option.
  func names(_ option: String, command: String) throws(CodedError) -> [String] {
    let names = all(option)
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw CodedError(usage: "\(option) needs a name", command: command) }
      guard !names[..<index].contains(name) else {
        throw CodedError(usage: "\(option) \(name) is given twice", command: command)
      }
    }
    return names
  }

  /// The value of an option in seconds, with an optional fraction.
  func seconds(_ option: String, upTo most: Double, command: String) throws(CodedError) -> Double? {
    guard let text = value(option) else { return nil }
    guard let seconds = Double(text), seconds > 0, seconds <= most else {
      throw CodedError(usage: "\(option) takes seconds, such as 30 or 0.5, not '\(text)'", command: command)
    }
    return seconds
  }
}

/// Splits `NAME=VALUE`.
func pair(_ text: String, option: String, command: String) throws(CodedError) -> (name: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw CodedError(usage: "\(option) takes NAME=VALUE, not '\(text)'", command: command)
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

  init(_ options: Options, command: String) throws(CodedError) {
    seconds = try options.seconds("--ttl", upTo: 1e9, command: command)
    guard let text = options.value("--owner") else {
      owner = seconds == nil ? Owner(pid: CallingProcess.pid) : nil
      return
    }
    guard let pid = Int32(text), pid > 0 else {
      throw CodedError(usage: "--owner takes a process id, not '\(text)'", command: command)
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

  private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:)))
  }
}
