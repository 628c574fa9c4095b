import ControlAPI
import Foundation

/// For whom something is held: `--owner PID`, `--ttl SECONDS`, or by default the process that called the command.
struct OwnerOptions {
  /// For a command's own table.
  static let table: [Options.Option] = [
    .init(
      "--owner", "PID",
      "Held until this process ends (default: the caller of this command; behind a wrapper such as timeout, give --owner $$)."
    ),
    .init("--ttl", "SECONDS", "Held for this long instead."),
  ]

  var owner: Owner?
  var seconds: Double?

  init(_ options: Options, command: String) throws(UsageError) {
    seconds = try options.seconds("--ttl", upTo: 1e9, command: command)
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
