import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama env update`: changes an environment while its apps run, or moves its clock.
enum EnvironmentUpdate {
  private static let command = "env update"

  static func run(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let id = try EnvironmentCommand.id(options, command: command)
    let patch = try patch(options)
    let move = try move(options)
    let access = DaemonAccess(options)
    switch (patch, move) {
    case (nil, nil): throw UsageError("say what to change, such as --toggle NAME=VALUE", command: command)
    case (.some, .some):
      throw UsageError("a clock is moved by itself; change the rest in a call of its own", command: command)
    case (let patch?, nil):
      let revision = try access.ask { client throws(DaemonClientError) in try await client.change(id, patch) }
      if options.has("--json") { try Output.write(json: revision) }
    case (nil, let move?):
      let answer = try access.ask { client throws(DaemonClientError) in try await client.moveClock(id, move) }
      if options.has("--json") {
        try Output.write(json: answer)
      } else {
        try Output.write(lines: ["\(answer.now), \(counted(answer.woken, "sleeper")) woken"])
      }
    }
    return 0
  }

  /// Nil where nothing of it is to change.
  private static func patch(_ options: Options) throws -> EnvironmentPatch? {
    let settings = ConfigurationOptions(options, command: command, variables: [:])
    var patch = EnvironmentPatch()
    if options.has("--toggle") { patch.toggles = try settings.values("--toggle") }
    if options.has("--value") { patch.values = try settings.values("--value") }
    if let mode = options.value("--mode") {
      try settings.check(.string(mode), EnvironmentConfiguration.modes, "--mode")
      patch.mode = mode
    }
    patch.clock = try settings.clock()
    guard patch.toggles != nil || patch.values != nil || patch.mode != nil || patch.clock != nil else { return nil }
    patch.timeoutSeconds = try options.seconds("--timeout", upTo: 1e6, command: command)
    return patch
  }

  /// Nil where the clock is not to be moved.
  private static func move(_ options: Options) throws -> ClockMoveRequest? {
    var move = ClockMoveRequest()
    move.advance = try options.seconds("--advance", upTo: 1e11, command: command)
    if let text = options.value("--set") {
      try ConfigurationOptions(options, command: command, variables: [:]).check(.string(text), .instant, "--set")
      move.set = text
    }
    guard move.advance != nil || move.set != nil else {
      if options.has("--sleepers") {
        throw UsageError("--sleepers goes with --advance or --set", command: command)
      }
      return nil
    }
    if move.advance != nil, move.set != nil {
      throw UsageError("--advance and --set exclude each other", command: command)
    }
    if let text = options.value("--sleepers") {
      guard let count = Int(text), count >= 0 else {
        throw UsageError("--sleepers takes a whole number from 0, not '\(text)'", command: command)
      }
      move.sleepers = count
    }
    move.timeoutSeconds = try options.seconds("--timeout", upTo: 1e6, command: command)
    return move
  }

  private static let table: [Options.Option] = [
    .init("--toggle", "NAME=VALUE", "another value for a switch; null takes it away"),
    .init("--value", "KEY=VALUE", "another value of the app's own, likewise"),
    .init("--mode", "M", "extend or replay"),
    .init("--clock", "KIND", "another kind of clock, which goes on from where it is"),
    .init("--start", "INSTANT", "what the clock shows at once"),
    .init("--time-zone", "ID", "another time zone"),
    .init("--locale", "ID", "another locale"),
    .init("--advance", "SECONDS", "move the clock on, and wake whoever slept no longer than that"),
    .init("--set", "INSTANT", "move the clock to an instant"),
    .init("--sleepers", "N", "first wait until so many are asleep"),
    .init("--timeout", "SECONDS", "how long the apps may take (default 30)"),
    .init("--json", nil, "print the answer as JSON"), DaemonAccess.option,
  ]

  private static let help = """
    usage: diorama env update [ID] [option …]

    Changes an environment while its apps run, or moves its clock; returns once every app has applied it.

    \(Options.describe(table))
      diorama env update --toggle new-calendar=true
      diorama env update --advance 900 --sleepers 1

    """
}
