import Foundation
import TestSupport
import Testing

/// The command as it was built, beside the tests.
enum Diorama {
  /// A diorama with these arguments and, beside them, these variables (nil: not set).
  static func start(
    _ arguments: [String], variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil, extra: [(ours: Int32, theirs: Int32)] = []
  ) throws -> Child {
    // posix_spawn(3) changes the folder on newer systems only; a shell does everywhere, and is the program then.
    let inFolder = folder.map { ["sh", "-c", "cd \"$0\" && exec \"$@\"", $0].map { Array($0.utf8) } } ?? []
    return try Child(
      inFolder + words(arguments), environment: environment(variables), input: input, errors: errors, extra: extra)
  }

  /// A diorama that leads a terminal.
  static func start(
    _ arguments: [String], variables: [String: String?] = [:], terminal: borrowing PseudoTerminal
  ) throws -> Child {
    try Child(words(arguments), environment: environment(variables), terminal: terminal)
  }

  /// Runs it to its end.
  static func run(
    _ arguments: String..., variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil
  ) async throws -> Child.Outcome {
    try await run(arguments, variables: variables, input: input, errors: errors, folder: folder)
  }

  static func run(
    _ arguments: [String], variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil
  ) async throws -> Child.Outcome {
    try await onThread {
      try start(arguments, variables: variables, input: input, errors: errors, folder: folder).finish()
    }
  }

  static func words(_ arguments: [String]) throws -> [[UInt8]] {
    let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent()
    return ([folder.appending(path: "diorama").path] + arguments).map { Array($0.utf8) }
  }

  /// The variables of this process but for those that would change what is tested.
  static func environment(_ variables: [String: String?] = [:]) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      !name.lowercased().hasSuffix("_proxy") && !name.hasPrefix("DIORAMA_") && !name.hasPrefix("LISTEN_")
        && !["CI", "NO_COLOR", "TERM", "TZ"].contains(name)
    }
    for (name, value) in variables { environment[name] = value }
    return environment
  }
}

/// Expects what every error of the command has to be: one line, ours, that says something.
func expectOneLine(
  _ outcome: Child.Outcome, status: Int32, naming texts: String..., location: SourceLocation = #_sourceLocation
) {
  #expect(outcome.status == status, "\(outcome.words)", sourceLocation: location)
  #expect(outcome.lines.count == 1, "\(outcome.words)", sourceLocation: location)
  #expect(outcome.words.hasPrefix("diorama: "), "\(outcome.words)", sourceLocation: location)
  #expect(outcome.words.hasSuffix("\n"), "\(outcome.words)", sourceLocation: location)
  #expect(outcome.text.isEmpty, "\(outcome.text)", sourceLocation: location)
  for text in texts { #expect(outcome.words.contains(text), sourceLocation: location) }
}
