import ChildProcesses
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases

/// `diorama run`: provisions an environment in this process and runs a command inside it.
enum RunCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let parsed = try Options(arguments, table: table, command: RunOptions.command)
    if parsed.has("--help") {
      print(help, terminator: "")
      return 0
    }
    let inherited = ProcessInfo.processInfo.environment
    var options = try RunOptions(parsed, environment: inherited)
    let command = RawWords.lastArguments(options.command.count)
    try Spawn.check(command.first ?? [], path: inherited["PATH"])

    var supervisor = Supervisor()
    let folder = try TemporaryFolder.make()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Before there is anything in the folder; an error that ends us here ends it too.
    let guardian = try Guard(removing: folder)
    // Kept to the end: a port is ours as long as its value lives.
    let ports = try reserve(options.ports) { () throws(PortUnavailable) in try PortReservation() }
    let sockets = try reserve(options.listen) { () throws(PortUnavailable) in try ListeningSocket() }
    for (name, reservation) in ports { options.specification.ports[name] = reservation.port }
    for (name, socket) in sockets { options.specification.ports[name] = socket.port }
    let reportFile = try options.report.map { try ReportFile($0) }

    let service = try EnvironmentService()
    let what = "opening \(options.specification.cassette.map(\.har) ?? "the environment")"
    let specification = options.specification
    let environment = try terminal.progress(what) { try service.provision(specification) }
    for note in environment.notes { terminal.line(note) }

    let spawn = try spawn(options, command, environment, folder: folder, sockets: sockets.map(\.value))
    let result = Result { () throws(NotStarted) in
      try supervisor.run(spawn, timeout: options.timeout, watching: guardian)
    }
    guardian.dismiss()
    let outcome: Supervisor.Outcome
    switch result {
    case .success(let success):
      outcome = success
    case .failure(let error):
      terminal.error(error.message)
      outcome = Supervisor.Outcome(status: error.status, isTimedOut: false)
    }
    if outcome.isTimedOut, let timeout = options.timeout {
      environment.fail("the command was ended after \(timeout) s")
    }
    var (report, sealed) = terminal.progress("sealing the recording") {
      blocking {
        await service.stop()
        return await environment.end(keepingEmptyRecording: outcome.status == 0)
      }
    }
    report.commandStatus = outcome.status
    withExtendedLifetime((ports, sockets)) {}
    terminal.report(
      ReportText(report, cassette: specification.cassette.map { "\($0).har" }, wholeIn: "--report FILE"))
    let status = exitStatus(outcome, report: report, sealed: sealed, environment: environment)
    do throws(EnvironmentError) {
      try reportFile?.write(report)
    } catch {
      terminal.error(error.message)
      return status == 0 ? error.kind.rawValue : status
    }
    return status
  }

  /// The command's own status, unless it succeeded in a world that did not hold.
  private static func exitStatus(
    _ outcome: Supervisor.Outcome, report: Report, sealed: Result<CassetteSealer.Outcome?, EnvironmentError>,
    environment: Environment
  ) -> Int32 {
    guard outcome.status == 0 else { return outcome.status }
    if case .failure(let error) = sealed { return error.kind.rawValue }
    if let failure = environment.recordingFailure { return failure.kind.rawValue }
    return report.ok ? 0 : 3
  }

  private static func spawn(
    _ options: RunOptions, _ command: [[UInt8]], _ environment: Environment, folder: String,
    sockets: [ListeningSocket]
  ) throws(EnvironmentError) -> Spawn {
    var variables = environment.variables
    variables.merge(Environment.proxyExceptions(ProcessInfo.processInfo.environment)) { $1 }
    do throws(ContractError) {
      variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(environment.contract, folder: folder).value
    } catch {
      throw EnvironmentError(.cannotWrite, "\(error)")
    }
    var arguments = command
    var files: [Spawn.FileAction] = []
    if !sockets.isEmpty {
      // sd_listen_fds(3): from 3 on, for the process whose id is LISTEN_PID, which only it can know beforehand.
      variables["LISTEN_FDS"] = String(sockets.count)
      variables["LISTEN_FDNAMES"] = options.listen.joined(separator: ":")
      arguments = ["/bin/sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "diorama"].map { Array($0.utf8) } + arguments
      files = sockets.enumerated().map { .pass($1.descriptor, as: Int32(3 + $0)) }
    }
    var spawn = Spawn(arguments: arguments, environment: InheritedVariables.all(overridden: variables))
    spawn.files = files
    return spawn
  }

  private static func reserve<Reservation>(
    _ names: [String], _ make: () throws(PortUnavailable) -> Reservation
  ) throws(EnvironmentError) -> [(key: String, value: Reservation)] {
    var reserved: [(key: String, value: Reservation)] = []
    for name in names {
      do throws(PortUnavailable) {
        reserved.append((name, try make()))
      } catch {
        throw EnvironmentError(.inputOutput, "\(error)")
      }
    }
    return reserved
  }
}

/// Waits on this thread for something asynchronous. Only for the main thread of a command, which has nothing else to do.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
  let semaphore = DispatchSemaphore(value: 0)
  let result = Guarded<Value?>(nil)
  Task.detached {
    let value = await work()
    result.withLock { $0 = value }
    semaphore.signal()
  }
  while true {
    semaphore.wait()
    if let value = result.withLock({ $0 }) { return value }
  }
}
