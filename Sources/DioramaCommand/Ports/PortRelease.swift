import DaemonClient
import Foundation

/// `diorama port release`: gives ports back.
enum PortRelease {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "port release")
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let ports = try (options.operands + (options.rest ?? [])).map { word throws(UsageError) in
      guard let port = UInt16(word), port > 0 else {
        throw UsageError("'\(word)' is no port, which is 1 to 65535", command: "port release")
      }
      return port
    }
    guard !ports.isEmpty else { throw UsageError("name the ports to release", command: "port release") }
    let access = DaemonAccess(options)
    var status: Int32 = 0
    for port in ports {
      do throws(DaemonClientError) {
        try access.release(Int(port))
      } catch {
        // The others are released all the same, where there is a daemon to do it.
        guard case .refused = error.kind else { throw error }
        terminal.error(error.message)
        status = status == 0 ? error.exitStatus : status
      }
    }
    return status
  }

  private static let table: [Options.Option] = [DaemonAccess.option]

  private static let help = """
    usage: diorama port release PORT …

    Gives leased ports back, so that others may get them.

    \(Options.describe(table))
    Exit status: 66 where one of them is not leased; the others are released all the same.

    """
}
