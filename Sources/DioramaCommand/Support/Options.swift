import Basics
import ControlAPI
import Foundation
import LaunchContract

/// Invalid command-line arguments (exit status 64).
struct UsageError: Error {
  /// One line: what is wrong, and where.
  let message: String
  /// The command whose `--help` the error refers to.
  let command: String?

  init(_ message: String, command: String? = nil) {
    self.message = message
    self.command = command
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

    init(_ name: String, _ value: String? = nil, _ help: String) {
      self.name = name
      self.value = value
      self.help = help
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
          "unknown option \(name)" + suggestion(for: name, among: table.map(\.name)), command: command)
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

  /// The value of an option; if it was given repeatedly, the last one.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values of a repeatable option.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The options' part of a help text, in 80 columns.
  static func describe(_ table: [Option]) -> String {
    let lefts = table.map { $0.name + ($0.value.map { " \($0)" } ?? "") }
    let width = min(lefts.map(\.count).max() ?? 0, 30)
    let newLine = "\n" + String(repeating: " ", count: width + 4)
    return zip(lefts, table).map { left, option in
      let padding = left.count > width ? newLine : String(repeating: " ", count: width - left.count + 2)
      let help = option.help.split(separator: "\n", omittingEmptySubsequences: false)
        .map { wrapped($0, width: 80 - width - 4) }.joined(separator: "\n")
      return "  \(left)\(padding)\(help.replacing("\n", with: newLine))\n"
    }.joined()
  }

  /// Breaks a line between words; keeps spaces at its beginning, and columns of aligned text.
  private static func wrapped(_ line: Substring, width: Int) -> String {
    guard line.count > width else { return String(line) }
    var lines = [""]
    for word in line.split(separator: " ", omittingEmptySubsequences: false) {
      if lines[lines.count - 1].isEmpty {
        lines[lines.count - 1] = String(word)
      } else if lines[lines.count - 1].count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.joined(separator: "\n")
  }
}

/// Splits `NAME=VALUE`.
func pair(_ text: String, option: String, command: String) throws(UsageError) -> (name: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw UsageError("\(option) takes NAME=VALUE, not '\(text)'", command: command)
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

  init(_ options: Options, command: String) throws(UsageError) {
    seconds = try EnvironmentOptions(options, command: command).seconds("--ttl", upTo: 1e9)
    guard let text = options.value("--owner") else {
      owner = seconds == nil ? Owner(pid: CallingProcess.pid) : nil
      return
    }
    guard let pid = Int32(text), pid > 0 else {
      throw UsageError("--owner takes a process id, not '\(text)'", command: command)
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
