import Basics
import ControlAPI
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Metrics in Prometheus's text exposition format, version 0.0.4.
struct MetricsPage: Sendable {
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  private enum Kind: String {
    case counter, gauge
  }

  private(set) var text = ""

  init(_ server: ControlServer) {
    let counters = server.operations.counters()
    family("diorama_info", .gauge, "The daemon's version.", [("version=\"\(server.health.version)\"", 1)])
    gauge("diorama_uptime_seconds", "Seconds since the daemon started.", counters.uptimeSeconds)
    family(
      "diorama_environments", .gauge, "Environments by state.",
      [
        ("state=\"provisioning\"", Double(counters.provisioning)), ("state=\"ready\"", Double(counters.ready)),
        ("state=\"ending\"", Double(counters.ending)),
      ])
    counter("diorama_environments_provisioned_total", "Environments provisioned.", counters.provisioned)
    counter("diorama_environments_restored_total", "Environments restored after a restart.", counters.restored)
    counter("diorama_environments_refused_total", "Environments that could not be provisioned.", counters.refused)
    family(
      "diorama_environments_ended_total", .counter, "Environments that have ended, by reason.",
      counters.ended.sorted { $0.key < $1.key }.map { ("reason=\"\(Self.escaped($0.key))\"", Double($0.value)) })
    gauge("diorama_leases", "Leased ports.", Double(counters.leases))
    counter("diorama_leases_total", "Ports leased.", counters.leased)
    counter("diorama_leases_reclaimed_total", "Leases that expired or lost their owner.", counters.reclaimed)
    counter("diorama_journal_entries_total", "Journal entries written to the store.", counters.journalEntries)
    gauge("diorama_waits", "Calls waiting for a journal, for sleepers or for apps.", Double(counters.waiting))
    gauge("diorama_state_waits", "State requests that are waiting.", Double(counters.stateWaiting))
    gauge("diorama_event_streams", "Open streams of journal events.", Double(server.streams.count))
    counter("diorama_store_failures_total", "Failed writes to the store.", counters.storeFailures)
    family(
      "diorama_control_requests_total", .counter, "Requests to the control API, by operation and status.",
      server.calls.all.map { ("operation=\"\($0.key.operation)\",status=\"\($0.key.status)\"", Double($0.count)) })
    process()
  }

  private mutating func process() {
    let figures = ProcessFigures()
    family(
      "process_cpu_seconds_total", .counter, "User and system CPU time in seconds.", [("", figures.cpuSeconds)])
    if let bytes = figures.residentBytes {
      gauge("process_resident_memory_bytes", "Resident memory in bytes.", Double(bytes))
    }
    if let count = figures.descriptors { gauge("process_open_fds", "Open file descriptors.", Double(count)) }
    if let count = figures.threads { gauge("process_threads", "Threads.", Double(count)) }
  }

  private mutating func gauge(_ name: String, _ help: String, _ value: Double) {
    family(name, .gauge, help, [("", value)])
  }

  private mutating func counter(_ name: String, _ help: String, _ value: Int) {
    family(name, .counter, help, [("", Double(value))])
  }

  private mutating func family(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: String, value: Double)]
  ) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      let labels = sample.labels.isEmpty ? "" : "{\(sample.labels)}"
      text += "\(name)\(labels) \(Int(exactly: sample.value).map(String.init) ?? "\(sample.value)")\n"
    }
  }

  private static func escaped(_ label: String) -> String {
    label.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}

/// Counts the control API's answers by operation and status.
final class CallCounts: Sendable {
  struct Key: Hashable, Sendable {
    let operation: String
    let status: Int
  }

  private let counts = Guarded<[Key: Int]>([:])

  func count(_ operation: String, status: Int) {
    counts.withLock { $0[Key(operation: operation, status: status), default: 0] += 1 }
  }

  /// Sorted by operation and status.
  var all: [(key: Key, count: Int)] {
    counts.withLock { $0 }.map { (key: $0.key, count: $0.value) }
      .sorted { ($0.key.operation, $0.key.status) < ($1.key.operation, $1.key.status) }
  }
}

/// Figures about this process. Some are missing if the system has no `/proc`.
struct ProcessFigures: Sendable {
  private(set) var residentBytes: Int?
  private(set) var threads: Int?
  private(set) var descriptors: Int?
  /// User and system time.
  let cpuSeconds: Double

  init() {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    cpuSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    for line in status.split(separator: "\n") {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      guard words.count > 1, let number = Int(words[1]) else { continue }
      if words[0] == "VmRSS:" { residentBytes = number * 1024 }
      if words[0] == "Threads:" { threads = number }
    }
  }
}
