import Basics
import EnvironmentConfiguration

/// A command of `diorama`: its words, help and options, and what it does.
///
/// Each command is declared once. Dispatch, `--help`, the completion scripts (``CompletionScript``) and the manual page
/// (``ManualPage``) are made from the declarations below ``Main/command``.
struct Command: Sendable {
  /// What a command takes besides options.
  enum Operands: Sendable, Equatable {
    /// Nothing; words are refused.
    case none
    /// Files, such as cassettes.
    case files
    /// Words that cannot be completed, such as ids.
    case words
    /// Exactly one of these words.
    case choice([String])
    /// `--`, then a command line.
    case commandLine
  }

  /// The words after `diorama`, such as `cassette show`; empty for `diorama` itself.
  let name: String
  /// What it does, in a few words, for the list of commands.
  let summary: String
  /// Its forms, each without `diorama`.
  let usage: [String]
  /// What the help says before the options.
  let about: String
  let options: [Options.Option]
  /// What the help says after the options.
  let notes: String
  let operands: Operands
  let subcommands: [Command]
  private let run: (@Sendable (Options, Terminal) throws -> Int32)?

  /// Declares a command. Without `run`, which returns the exit status, it needs a subcommand.
  init(
    _ name: String, _ summary: String, usage: [String], about: String, options: [Options.Option] = [],
    notes: String = "", operands: Operands = .none, subcommands: [Command] = [],
    run: (@Sendable (Options, Terminal) throws -> Int32)? = nil
  ) {
    self.name = name
    self.summary = summary
    self.usage = usage
    self.about = about
    self.options = options
    self.notes = notes
    self.operands = operands
    self.subcommands = subcommands
    self.run = run
  }

  /// The last word of the name.
  var word: String { name.split(separator: " ").last.map(String.init) ?? "" }

  /// The command and all below it, each before its subcommands.
  var all: [Command] { [self] + subcommands.flatMap(\.all) }

  /// Runs the command, or the subcommand that the arguments name.
  ///
  /// - Returns: the exit status.
  /// - Throws: what the command throws; ``CodedError`` for arguments that are not valid.
  func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    if let first = arguments.first, !subcommands.isEmpty, !first.hasPrefix("-") {
      let rest = Array(arguments.dropFirst())
      if let subcommand = subcommands.first(where: { $0.word == first }) {
        return try subcommand.run(rest, terminal: terminal)
      }
      // The command `help` at the top; here `cassette help show`.
      if first == "help" { return try run(rest + ["--help"], terminal: terminal) }
      throw unknown(first)
    }
    let options = try Options(arguments, table: options, command: name)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    guard let run else { throw CodedError(usage: "missing \(noun); \(choice)", command: name) }
    if operands == .none, let extra = options.operands.first ?? options.rest?.first {
      throw CodedError(usage: "unexpected argument '\(extra)'", command: name)
    }
    if case .choice(let choices) = operands {
      let words = options.operands + (options.rest ?? [])
      guard words.count == 1 else {
        let problem = words.isEmpty ? "missing argument" : "too many arguments"
        throw CodedError(usage: "\(problem); choose one of \(alternatives(choices))", command: name)
      }
      if let problem = TextRule(.word(choices), count: 0...64).problem(with: words[0]) {
        throw CodedError(usage: problem, command: name)
      }
    }
    return try run(options, terminal)
  }

  /// The command with this name.
  ///
  /// - Throws: ``CodedError`` if there is none.
  func command(_ words: [String]) throws(CodedError) -> Command {
    guard let first = words.first else { return self }
    guard let subcommand = subcommands.first(where: { $0.word == first }) else { throw unknown(first) }
    return try subcommand.command(Array(words.dropFirst()))
  }

  private func unknown(_ word: String) -> CodedError {
    guard !subcommands.isEmpty else { return CodedError(usage: "'\(name)' has no subcommand '\(word)'", command: name) }
    let near = suggestion(for: word, among: subcommands.map(\.word))
    return CodedError(
      usage: "unknown \(noun) '\(name.isEmpty ? "" : "\(name) ")\(word)'" + (near.isEmpty ? "; \(choice)" : near),
      command: name)
  }

  private var noun: String { name.isEmpty ? "command" : "subcommand" }

  private var choice: String {
    let words = subcommands.map(\.word)
    return words.count > 1 ? "choose from \(alternatives(words))" : "use \(words.joined())"
  }

  /// The text for `--help`.
  var help: String {
    let forms = usage.enumerated().map { "\($0 == 0 ? "usage:" : "      ") diorama \($1)" }
    let listed = subcommands.map { Options.Option($0.word, nil, $0.summary) }
    return
      ([forms.joined(separator: "\n"), about].map { $0 + "\n" }
      + [listed.isEmpty ? nil : Options.describe(listed), options.isEmpty ? nil : Options.describeGroups(options)]
      .compactMap { $0 } + [notes].filter { !$0.isEmpty }.map { $0 + "\n" }).joined(separator: "\n")
  }
}
