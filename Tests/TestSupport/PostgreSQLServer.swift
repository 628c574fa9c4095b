import ChildProcesses
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A PostgreSQL server of the tests' own, in a temporary folder, without root. It listens on a Unix socket and on a
/// loopback port, and is stopped and removed when the process exits.
package final class PostgreSQLServer: Sendable {
  /// Shared by all tests of the process; each makes its own database.
  package static let shared = Result { try PostgreSQLServer() }

  package let folder: String
  private let programs: String

  package struct Failure: Error, CustomStringConvertible {
    package var description: String
  }

  /// Starts a server.
  package init() throws {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    guard let version = versions.compactMap(Int.init).max() else {
      throw Failure(description: "PostgreSQL is missing; install it with: apt-get install postgresql")
    }
    programs = "/usr/lib/postgresql/\(version)/bin"
    // A Unix socket's path has at most 107 bytes.
    var template = Array("/tmp/diorama-pg-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "no temporary folder") }
    folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    chmod(folder, 0o755)
    if geteuid() == 0 { try Self.run(["chown", "nobody", folder]) }
    try run(
      "initdb", "-D", "\(folder)/data", "-A", "trust", "-U", "diorama", "--no-sync", "-E", "UTF8", "--locale", "C")
    try start()
    Self.running.append(self)
  }

  /// Starts the server again after ``stop(_:)``, and returns once it accepts connections.
  package func start() throws {
    try run(
      "pg_ctl", "-D", "\(folder)/data", "-w", "-l", "\(folder)/log", "-o",
      "-k \(folder) -c listen_addresses= -c unix_socket_permissions=0777 -c max_connections=300", "start")
  }

  /// Stops the server.
  ///
  /// - Parameter mode: `fast`, or `immediate` for what a crash does.
  /// - Throws: ``Failure`` with the output of the command.
  package func stop(_ mode: String = "immediate") throws {
    try run("pg_ctl", "-D", "\(folder)/data", "-w", "-m", mode, "stop")
  }

  /// Makes an empty database, and returns its address.
  package func makeDatabase() throws -> String {
    let name = "t\(UUID().uuidString.prefix(8).lowercased())"
    try run("createdb", "-h", folder, "-U", "diorama", name)
    return address(of: name)
  }

  package func address(of database: String) -> String { "host=\(folder) user=diorama dbname=\(database)" }

  private func run(_ program: String, _ arguments: String...) throws {
    // The server refuses to run as root.
    let user = geteuid() == 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
    try Self.run(user + ["\(programs)/\(program)"] + arguments)
  }

  /// Runs a command. Not with `Process`, which waits until the server, too, has closed what it inherited.
  private static func run(_ command: [String]) throws {
    let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: output) }
    var spawn = Spawn(
      arguments: (["/usr/bin/env", "-C", "/"] + command).map { Array($0.utf8) },
      environment: ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"].map { Array($0.utf8) })
    spawn.closesOthers = true
    spawn.files = [
      .open("/dev/null", flags: O_RDONLY, as: 0), .open(output, flags: O_WRONLY | O_CREAT, as: 1),
      .open(output, flags: O_WRONLY, as: 2),
    ]
    let pid = try spawn.start()
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else {
      let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
      throw Failure(description: "\(command.joined(separator: " ")): \(text)")
    }
  }

  /// The servers to stop when the process exits.
  private static let running = Running()

  private final class Running: @unchecked Sendable {
    private let lock = NSLock()
    private var servers: [PostgreSQLServer] = []

    func append(_ server: PostgreSQLServer) {
      lock.withLock { servers.append(server) }
      if lock.withLock({ servers.count }) == 1 { atexit { PostgreSQLServer.stopAll() } }
    }

    func stopAll() {
      for server in lock.withLock({ servers }) {
        try? server.stop()
        try? FileManager.default.removeItem(atPath: server.folder)
      }
    }
  }

  private static func stopAll() { running.stopAll() }
}
