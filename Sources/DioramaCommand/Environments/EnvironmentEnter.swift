import Basics
import ChildProcesses
import ControlAPI
import DaemonClient
import Foundation
import LaunchContract

/// `diorama env enter`: runs a command whose connections lead to an environment, whatever URLs the command has.
enum EnvironmentEnter {
  private static let name = "env enter"

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    #if os(Linux)
      return try enter(options, terminal: terminal)
    #else
      throw CodedError(.noUpstream, "diorama env enter needs Linux")
    #endif
  }

  #if os(Linux)
    private static func enter(_ options: Options, terminal: Terminal) throws -> Int32 {
      let inherited = ProcessInfo.processInfo.environment
      let id = try id(options, inherited)
      let words = options.rest ?? []
      guard !words.isEmpty else {
        throw CodedError(usage: "there is no command to run; write it after --", command: name)
      }
      let command = RawWords.lastArguments(words.count)
      try Spawn.check(command.first ?? [], path: inherited["PATH"])

      // Before any thread is created.
      var supervisor = Supervisor()
      let (control, variables) = try control(of: id, options, inherited)
      let environment = try EnteredEnvironment(id, for: words, control)
      let folder = try TemporaryFolder.make(inMemory: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let guardian = try Guard(removing: folder)
      let isolation = try CommandIsolation(environment, folder: folder, inherited: inherited)
      for note in isolation.notes { terminal.line(note) }
      // The supervisor ends the command as after a time limit.
      environment.start { kill(getpid(), SIGALRM) }
      let result = Result { () throws(NotStarted) in
        try isolation.run(with: &supervisor, timeout: nil, watching: guardian) { more, removed in
          Spawn(
            arguments: command,
            environment: InheritedVariables.all(overridden: variables.merging(more) { $1 }, without: removed))
        }
      }
      guardian.dismiss()
      blocking { await isolation.stop() }
      for note in environment.notes { terminal.line(note) }
      switch result {
      case .failure(let error):
        terminal.error(error.message)
        return error.status
      case .success(let outcome):
        guard outcome.isTimedOut, let end = environment.end else { return outcome.status }
        terminal.error("\(end), so the command was ended")
        return outcome.status == 0 ? CodedError.Kind.noUpstream.rawValue : outcome.status
      }
    }
  #endif

  private static func id(_ options: Options, _ inherited: [String: String]) throws(CodedError) -> String {
    guard options.operands.count <= 1 else {
      throw CodedError(usage: "unexpected argument '\(options.operands[1])'; the command comes after --", command: name)
    }
    if let id = options.operands.first ?? inherited["DIORAMA_ENVIRONMENT"], !id.isEmpty { return id }
    throw CodedError(usage: "no environment; give its id, or set DIORAMA_ENVIRONMENT", command: name)
  }

  /// How to reach an environment: by the variables of a program in it, which may be in a test's process, or as the daemon
  /// says.
  ///
  /// - Returns: its address, and the variables that the command needs in addition.
  private static func control(
    of id: String, _ options: Options, _ inherited: [String: String]
  ) throws -> (LaunchContract.Control, [String: String]) {
    if id == inherited["DIORAMA_ENVIRONMENT"], let url = inherited["DIORAMA_CONTROL"],
      let token = inherited["DIORAMA_TOKEN"], !options.has("--state")
    {
      return (.init(url: url, token: token), [:])
    }
    let environment = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await client.environment(id)
    }
    guard let variables = environment.contract?.environment, let url = variables["DIORAMA_CONTROL"],
      let token = variables["DIORAMA_TOKEN"]
    else { throw CodedError(.noCassette, "environment \(id) has ended; create another one") }
    return (.init(url: url, token: token), variables)
  }

  static let command = Command(
    name, "run a command whose connections lead to an environment", usage: ["env enter [ID] -- COMMAND [ARG …]"],
    about: """
      Runs COMMAND in an environment that was created with --isolate, as diorama run
      --isolate would: all its connections lead to the environment, whatever URLs it
      has. Several commands can run in an environment, at the same time or one after
      another; in namespaces, each has its own network. If the environment ends, the
      command gets SIGTERM, and 5 s later SIGKILL; the report lists it.
      """,
    options: [DaemonAccess.option],
    notes: """
        ID=$(diorama env create --isolate --cassette Cassettes/check)
        diorama env enter $ID -- curl -sS https://api.example.com/status
        diorama env delete $ID

      What the commands sent is in the report of env delete. A published port
      (--publish, --port) belongs to one command at a time; a second one that
      publishes it is not started.

      Exit status: the command's own; 64 usage, 66 no such environment, 69 the
      environment cannot be reached or has ended; 126 and 127 as in a shell.
      """, operands: .commandLine, run: run)
}
