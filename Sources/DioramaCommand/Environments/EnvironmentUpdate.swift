import Basics
import CassetteChecks
import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama env update`: changes a running environment, or moves its clock.
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
    case (nil, nil):
      throw CodedError(usage: "nothing to change; give an option such as --toggle NAME=VALUE", command: command)
    case (.some, .some):
      throw CodedError(
        usage: "--advance and --set cannot be combined with other changes; use two calls", command: command)
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

  /// The requested change, if any.
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

  /// The requested clock movement, if any.
  private static func move(_ options: Options) throws -> ClockMoveRequest? {
    var move = ClockMoveRequest()
    move.advance = try options.seconds("--advance", upTo: 1e11, command: command)
    if let text = options.value("--set") {
      try ConfigurationOptions(options, command: command, variables: [:]).check(.string(text), .instant, "--set")
      move.set = text
    }
    guard move.advance != nil || move.set != nil else {
      if options.has("--sleepers") {
        throw CodedError(usage: "--sleepers requires --advance or --set", command: command)
      }
      return nil
    }
    if move.advance != nil, move.set != nil {
      throw CodedError(usage: "--advance and --set exclude each other", command: command)
    }
    if let text = options.value("--sleepers") {
      guard let count = Int(text), count >= 0 else {
        throw CodedError(usage: "--sleepers takes a number from 0, not '\(text)'", command: command)
      }
      move.sleepers = count
    }
    move.timeoutSeconds = try options.seconds("--timeout", upTo: 1e6, command: command)
    return move
  }

  private static let table: [Options.Option] = [
    .init("--toggle", "NAME=VALUE", "set a toggle; null removes it"),
    .init("--value", "KEY=VALUE", "set a value of the app; null removes it"),
    .init("--mode", "M", "extend or replay"),
    .init("--clock", "KIND", "change the kind of clock, which keeps its time"),
    .init("--start", "INSTANT", "change the clock's time at once"),
    .init("--time-zone", "ID", "change the time zone"),
    .init("--locale", "ID", "change the locale"),
    .init("--advance", "SECONDS", "advance the clock, waking sleepers that are due"),
    .init("--set", "INSTANT", "move the clock to a time"),
    .init("--sleepers", "N", "with --advance or --set: first wait for N sleepers"),
    .init("--timeout", "SECONDS", "how long apps may take (default: 30)"),
    .init("--json", nil, "print the result as JSON"), DaemonAccess.option,
  ]

  private static let help = """
    usage: diorama env update [ID] [option …]

    Changes a running environment, or moves its clock. Returns once every app has
    applied the change.

    \(Options.describe(table))
      diorama env update --toggle new-calendar=true
      diorama env update --advance 900 --sleepers 1

    """
}
