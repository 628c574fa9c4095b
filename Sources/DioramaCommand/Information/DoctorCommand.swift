import Basics
import ControlAPI
import DaemonClient
import Foundation
import Isolation
import PortLeases

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `diorama doctor`: checks what works on this machine.
enum DoctorCommand {
  static let command = Command(
    "doctor", "check what works on this machine", usage: ["doctor [--state DIR] [--json]"],
    about: """
      Checks whether unmodified programs can be isolated on this machine, whether a
      daemon is running and can reach its database, and whether the state folder and
      ports can be used. Tries each step of the isolation by namespaces, and by
      seccomp if that fails, and prints what would allow each step that fails.
      Changes nothing.
      """,
    options: [.init("--json", nil, "print JSON"), DaemonAccess.option],
    notes: """
      Exit status: 0 programs can be isolated by namespaces; 1 only by seccomp, or by
      proxy variables, which some programs ignore.
      """, run: run)

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let report = DoctorReport(options)
    if options.has("--json") {
      try Output.write(json: report)
    } else {
      try Output.write(lines: report.lines)
    }
    return report.isolation.namespaces ? 0 : 1
  }
}

/// What `diorama doctor` prints. Its members are the JSON of `--json`.
struct DoctorReport: Encodable {
  struct System: Encodable {
    var version = Build.version
    var kernel: String
    var machine: String
    var user: String
    var uid: UInt32
  }

  struct Isolation: Encodable {
    struct Step: Encodable {
      /// `namespaces` or `seccomp`.
      var kind: String
      var name: String
      /// `ok`, `failed` or `notTried`.
      var result: String
      /// The system call that failed.
      var call: String?
      /// Its error.
      var message: String?
      /// What would allow it.
      var advice: String?
      /// The step that has to work first.
      var needs: String?
    }

    var namespaces = false
    /// Whether the programs of a command in namespaces can have the environment's clock and random values.
    var clock = false
    /// Works everywhere, for programs that obey the variables.
    var proxy = true
    var seccomp = false
    /// The path of diorama-isolate.
    var helper: String?
    /// Why no step could be tried.
    var problem: String?
    /// Of namespaces, then of seccomp.
    var steps: [Step] = []
    /// Shell commands that would allow the failed steps.
    var remedies: [String] = []
  }

  struct Check: Encodable {
    var ok: Bool
    /// What was found, or the problem and what to do next.
    var message: String
    /// The folder that was checked.
    var path: String?
  }

  var system: System
  var isolation: Isolation
  var daemon: Check
  /// The store of the running daemon; nil without one.
  var store: Check?
  var stateFolder: Check
  var ports: Check

  init(_ options: Options) {
    let variables = ProcessInfo.processInfo.environment
    let home = options.value("--state").map(DaemonHome.init) ?? .standard(variables: variables)
    system = .current
    isolation = .current(variables)
    let access = DaemonAccess(options)
    daemon = .daemon(of: home, access)
    let isRunning = (try? home.readControlFile()) != nil
    store = daemon.ok && isRunning ? .store(access) : nil
    stateFolder = .writing(to: home.folder)
    ports = .ports
  }

  var lines: [String] {
    // Where namespaces work, seccomp is not used.
    var rows = isolation.steps.filter { !isolation.namespaces || $0.kind == "namespaces" }.map { step in
      let name = "\(step.kind): \(step.name)"
      return switch step.result {
      case "failed":
        [name, "failed: \([step.call, step.message].compactMap(\.self).joined(separator: ": ")); \(step.advice ?? "")"]
      case "notTried": [name, "not tried, because it needs: \(step.needs ?? "")"]
      default: [name, "ok"]
      }
    }
    if let problem = isolation.problem { rows.append(["isolation", "failed: \(problem)"]) }
    for (name, check) in [("daemon", daemon), ("store", store), ("state folder", stateFolder), ("ports", ports)] {
      guard let check else { continue }
      rows.append([name, "\(check.ok ? "ok" : "failed"): \(check.message)"])
    }
    var lines = [
      "\(system.kernel) \(system.machine), user \(system.user) (\(system.uid)), diorama \(system.version)", "",
    ]
    lines += Table(header: ["check", "result"], rows: rows, rightAligned: []).lines + [""]
    let missing: String?
    if !isolation.namespaces {
      lines.append(
        isolation.seccomp
          ? "isolation: works by seccomp, not by namespaces; --isolate chooses it"
          : "isolation: works only by proxy variables, which some programs ignore")
      missing = "namespaces"
    } else if !isolation.clock {
      lines.append("isolation: works by namespaces, but programs keep the real clock and real random values")
      missing = "the clock and random values"
    } else {
      lines.append("isolation: works by namespaces")
      missing = nil
    }
    if let missing, !isolation.remedies.isEmpty {
      lines += ["", "to make \(missing) work:"] + isolation.remedies.map { "  \($0)" }
    }
    return lines
  }
}

extension DoctorReport.System {
  static var current: Self {
    var name = utsname()
    uname(&name)
    func text<Field>(_ field: Field) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return Self(
      kernel: "\(text(name.sysname)) \(text(name.release))", machine: text(name.machine), user: NSUserName(),
      uid: geteuid())
  }
}

extension DoctorReport.Isolation {
  static func current(_ variables: [String: String]) -> Self {
    var isolation = Self()
    do {
      let helper = try IsolationHelper(variables: variables)
      isolation.helper = helper.path
      let probe = try IsolationProbe(helper)
      let supervision = try IsolationProbe(helper, of: .seccomp)
      isolation.namespaces = probe.works
      isolation.clock = probe.hasControls
      isolation.seccomp = supervision.works
      isolation.remedies = probe.remedies(for: helper.path)
      isolation.steps = steps("namespaces", probe) + steps("seccomp", supervision)
    } catch {
      isolation.problem = error.message
    }
    return isolation
  }
}

extension DoctorReport.Isolation {
  private static func steps(_ kind: String, _ probe: IsolationProbe) -> [Step] {
    probe.steps.map { step in
      switch step.result {
      case .works: Step(kind: kind, name: step.name, result: "ok")
      case .failed(let call, let message, let advice):
        Step(kind: kind, name: step.name, result: "failed", call: call, message: message, advice: advice)
      case .notTried(let needs): Step(kind: kind, name: step.name, result: "notTried", needs: needs)
      }
    }
  }
}

extension DoctorReport.Check {
  /// Whether a running daemon responds. None needs to run.
  static func daemon(of home: DaemonHome, _ access: DaemonAccess) -> Self {
    do {
      guard try home.readControlFile() != nil else {
        return Self(ok: true, message: "none is running; commands that need one start it", path: home.folder)
      }
      let health = try access.ask { daemon throws(DaemonClientError) in try await daemon.health() }
      return Self(ok: true, message: "process \(health.pid), diorama \(health.version)", path: home.folder)
    } catch {
      return Self(ok: false, message: error.message, path: home.folder)
    }
  }

  /// Whether the running daemon can reach the database of its pools.
  static func store(_ access: DaemonAccess) -> Self? {
    do {
      let list = try access.ask { daemon throws(DaemonClientError) in try await daemon.leases() }
      return list.store.map { Self(ok: $0.away == nil, message: $0.away ?? $0.name) }
    } catch {
      return Self(ok: false, message: error.message)
    }
  }

  /// Whether a folder can be written to, or created.
  static func writing(to folder: String) -> Self {
    // A daemon creates the missing folders.
    var existing = URL(fileURLWithPath: folder)
    while access(existing.path, F_OK) != 0, errno == ENOENT, existing.path != "/" { existing.deleteLastPathComponent() }
    // access(2) allows root everything, also where nothing can be created, such as in /proc.
    var template = Array((existing.path + "/.diorama-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      let reason = String(cString: strerror(errno))
      let problem = existing.path == folder ? "cannot be written to" : "cannot be created in \(existing.path)"
      return Self(
        ok: false, message: "\(folder) \(problem): \(reason); set DIORAMA_HOME to a folder of your own", path: folder)
    }
    rmdir(template)
    return Self(ok: true, message: folder, path: folder)
  }

  /// Whether a port can be reserved.
  static var ports: Self {
    do {
      _ = try PortReservation()
      let pool = PortReservation.pool
      return Self(ok: true, message: "free ones from \(pool.lowerBound) to \(pool.upperBound)")
    } catch {
      return Self(ok: false, message: error.message)
    }
  }
}
