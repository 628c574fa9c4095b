import Basics
import EnvironmentConfiguration
import EnvironmentService
import Foundation

/// The options of `diorama run`.
struct RunOptions {
  static let command = "run"

  var specification: EnvironmentSpecification
  /// Ports the command binds itself.
  var ports: [String]
  /// Sockets handed over by LISTEN_FDS.
  var listen: [String]
  var timeout: Double?
  /// Whether the command uses the environment as its HTTP proxy.
  var isProxy: Bool
  /// Whether standard error gets errors only.
  var isQuiet: Bool
  var command: [String]

  /// - Parameters:
  ///   - options: the command line.
  ///   - environment: the variables of this process.
  ///   - subcommand: the command whose help an error names.
  /// - Throws: ``CodedError`` for options that are not valid, or files that cannot be read.
  init(_ options: Options, environment: [String: String], of subcommand: String = Self.command) throws {
    if let word = options.operands.first, let form = Self.form(of: word, in: options) {
      throw CodedError(usage: "unexpected argument '\(word)'; did you mean \(form)?", command: subcommand)
    }
    guard let command = options.rest, !command.isEmpty else {
      let hint = options.operands.first.map { "; write -- before '\($0)'" } ?? ""
      throw CodedError(usage: "there is no command to run" + hint, command: subcommand)
    }
    if let extra = options.operands.first {
      throw CodedError(usage: "unexpected argument '\(extra)'; the command comes after --", command: subcommand)
    }
    self.command = command
    let settings = ConfigurationOptions(options, command: subcommand, variables: environment)
    ports = try options.names("--port", command: subcommand)
    listen = try options.names("--listen", command: subcommand)
    if let name = listen.first(where: { $0.contains(":") }) {
      throw CodedError(
        usage: "--listen: '\(name)' has a colon, which separates names in LISTEN_FDNAMES; choose another name",
        command: subcommand)
    }
    let program = (command[0] as NSString).lastPathComponent
    var configuration = try settings.configuration(named: (program as NSString).deletingPathExtension)
    configuration.name = configuration.cassette == nil ? program : nil
    configuration.command = command.map(ShellWord.quoted).joined(separator: " ")
    // Both kinds of port share the variables.
    configuration.ports += listen
    specification = try settings.specification(configuration)
    specification.options = Self.repeated(options)
    specification.journalFile = options.value("--journal")
    specification.journalsRequests = options.has("--journal-requests")
    if specification.journalsRequests, specification.journalFile == nil {
      throw CodedError(usage: "--journal-requests needs --journal FILE", command: subcommand)
    }
    isQuiet = options.has("--quiet")
    try ConfigurationOptions.checkIsolation(options, specification.isolation, command: subcommand)
    isProxy = options.has("--proxy")
    timeout = try options.seconds("--timeout", upTo: 1e6, command: subcommand)
  }

  /// The options that the advice to record repeats, quoted for a shell: without the mode and the cassette, which it
  /// names itself, and those for output.
  static func repeated(_ options: Options) -> [String] {
    options.given {
      // A recording keeps dates as they are received.
      $0.group != .output && !["--mode", "--cassette", "--shift-dates"].contains($0.name)
    }
  }

  /// How to write a word as the value of an option whose value is optional; nil if no such option takes it.
  private static func form(of word: String, in options: Options) -> String? {
    RunCommand.table.first { $0.isValueOptional && options.has($0.name) && $0.choices.contains(word) }
      .map { "\($0.name)=\(word)" }
  }
}
