import ChildProcesses
import ControlAPI
import DaemonClient
import Foundation
import LaunchContract

/// `diorama serve --stop` and `--status`: a word with the daemon that runs.
enum ServeControl {
  /// How long a daemon may take to seal all recordings.
  private static let patience = Duration.seconds(120)

  /// Ends the daemon; returns when it is gone.
  static func stop(_ access: DaemonAccess, terminal: Terminal) throws -> Int32 {
    // It answers: so the process of this id is the daemon, and not one that came after it.
    let pid = try access.ask { daemon throws(DaemonClientError) in try await daemon.health().pid }
    let end = ProcessEnd(of: pid)
    guard kill(pid, SIGTERM) == 0 || errno == ESRCH else {
      throw DaemonClientError(
        .unusable, "process \(pid) cannot be ended: \(String(cString: strerror(errno))); end it as its owner")
    }
    guard terminal.progress("waiting for the daemon to end", { end.wait(for: patience) }) else {
      throw DaemonClientError(
        .unresponsive, "process \(pid) was asked to end and has not for \(patience); see its log")
    }
    return 0
  }

  /// What `--status --json` prints.
  private struct Status: Encodable {
    var pid: Int32
    var version: String
    var environments: [ProvisionedEnvironment]
    var ports: [PortList.Lease]
  }

  static func printStatus(_ access: DaemonAccess, isJSON: Bool) throws -> Int32 {
    let status = try access.ask { daemon throws(DaemonClientError) in
      let health = try await daemon.health()
      return Status(
        pid: health.pid, version: health.version, environments: try await daemon.environments(),
        ports: try await daemon.ports())
    }
    if isJSON {
      print(String(decoding: try ContractJSON.encode(status), as: UTF8.self).escapedJSONForTerminal)
      return 0
    }
    Output.print("diorama \(status.version), process \(status.pid)")
    Output.print("environments: \(status.environments.count)")
    for environment in status.environments {
      Output.print("  \(environment.id)  \(environment.mode)  port \(environment.port)  \(environment.name)")
    }
    Output.print("leased ports: \(status.ports.count)")
    return 0
  }
}
