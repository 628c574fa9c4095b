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
  private static let name = "env update"

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let id = try EnvironmentCommand.id(options, command: name)
    let patch = try patch(options)
    let move = try move(options)
    let access = DaemonAccess(options)
    switch (patch, move) {
    case (nil, nil):
      throw CodedError(usage: "nothing to change; give an option such as --toggle NAME=VALUE", command: name)
    case (.some, .some):
      throw CodedError(
        usage: "--advance and --set cannot be combined with other changes; use two calls", command: name)
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
    let settings = ConfigurationOptions(options, command: name, variables: [:])
    var patch = EnvironmentPatch()
    if options.has("--toggle") { patch.toggles = try settings.values("--toggle") }
    if options.has("--value") { patch.values = try settings.values("--value") }
    if let mode = options.value("--mode") {
      try settings.check(.string(mode), EnvironmentConfiguration.modes, "--mode")
      patch.mode = mode
    }
    patch.clock = try settings.clock()
    if options.has("--fault") {
      let faults = options.all("--fault")
      patch.faults = faults == ["none"] ? [] : faults.map(JSON.string)
      for fault in patch.faults ?? [] { try ConfigurationOptions.checkFault(fault.string ?? "", name) }
    }
    guard patch.toggles != nil || patch.values != nil || patch.mode != nil || patch.clock != nil || patch.faults != nil
    else { return nil }
    patch.timeoutSeconds = try options.seconds("--timeout", upTo: 1e6, command: name)
    return patch
  }

  /// The requested clock movement, if any.
  private static func move(_ options: Options) throws -> ClockMoveRequest? {
    var move = ClockMoveRequest()
    move.advance = try options.seconds("--advance", upTo: 1e11, command: name)
    if let text = options.value("--set") {
      try ConfigurationOptions(options, command: name, variables: [:]).check(.string(text), .instant, "--set")
      move.set = text
    }
    guard move.advance != nil || move.set != nil else {
      if options.has("--sleepers") {
        throw CodedError(usage: "--sleepers requires --advance or --set", command: name)
      }
      return nil
    }
    if move.advance != nil, move.set != nil {
      throw CodedError(usage: "--advance and --set cannot be combined", command: name)
    }
    if let count = try options.number("--sleepers", 0...1_000_000, command: name) { move.sleepers = count }
    move.timeoutSeconds = try options.seconds("--timeout", upTo: 1e6, command: name)
    return move
  }

  private static let table: [Options.Option] = [
    .init("--toggle", "NAME=VALUE", "set a toggle; null removes it"),
    .init("--value", "KEY=VALUE", "set a value of the app; null removes it"),
    .init("--mode", "MODE", "extend or replay", choices: ["extend", "replay"]),
    .init(
      "--clock", "KIND", "change the kind of clock, which keeps its time",
      choices: EnvironmentConfiguration.clockKind.words),
    .init("--start", "INSTANT", "change the clock's time at once"),
    .init("--time-zone", "ID", "change the time zone"),
    .init("--locale", "ID", "change the locale"),
    .init("--fault", "FAULT", "replace all faults (see diorama run); repeatable; none removes them"),
    .init("--advance", "SECONDS", "advance the clock, waking sleepers that are due"),
    .init("--set", "INSTANT", "move the clock to a time"),
    .init("--sleepers", "N", "with --advance or --set: first wait for N sleepers"),
    .init("--timeout", "SECONDS", "how long apps may take (default: 30)"),
    .init("--json", nil, "print the result as JSON"), DaemonAccess.option,
  ]

  static let command = Command(
    name, "change toggles, values, mode, clock or faults, or move the clock", usage: ["env update [ID] [option …]"],
    about: """
      Changes a running environment, or moves its clock. Returns once every app has
      applied the change.
      """, options: table,
    notes: """
        diorama env update --toggle new-calendar=true
        diorama env update --fault status=503,path=/orders,nth=1
        diorama env update --advance 900 --sleepers 1
      """, operands: .words, run: run)
}
