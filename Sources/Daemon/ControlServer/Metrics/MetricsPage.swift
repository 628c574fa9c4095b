import ControlAPI
/// Figures in Prometheus's text exposition format, version 0.0.4.
struct MetricsPage: Sendable {
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  private enum Kind: String {
    case counter, gauge
  }

  private(set) var text = ""

  init(_ server: ControlServer) {
    let counters = server.operations.counters()
    family("diorama_info", .gauge, "The daemon's version.", [("version=\"\(server.health.version)\"", 1)])
    gauge("diorama_uptime_seconds", "Seconds since the daemon began.", counters.uptimeSeconds)
    family(
      "diorama_environments", .gauge, "Environments by state.",
      [
        ("state=\"provisioning\"", Double(counters.provisioning)), ("state=\"ready\"", Double(counters.ready)),
        ("state=\"ending\"", Double(counters.ending)),
      ])
    counter("diorama_environments_provisioned_total", "Environments provisioned.", counters.provisioned)
    counter("diorama_environments_restored_total", "Environments back after a restart.", counters.restored)
    counter("diorama_environments_refused_total", "Environments that could not be made.", counters.refused)
    family(
      "diorama_environments_ended_total", .counter, "Environments that have ended, by why.",
      counters.ended.sorted { $0.key < $1.key }.map { ("reason=\"\(Self.escaped($0.key))\"", Double($0.value)) })
    gauge("diorama_leases", "Ports that are leased.", Double(counters.leases))
    counter("diorama_leases_total", "Ports leased.", counters.leased)
    counter("diorama_leases_reclaimed_total", "Ports that came back by themselves.", counters.reclaimed)
    counter("diorama_journal_entries_total", "Journal entries written to the store.", counters.journalEntries)
    gauge("diorama_waits", "Calls that wait for a journal, for sleepers or for apps.", Double(counters.waiting))
    gauge("diorama_state_waits", "Questions for a state that wait.", Double(counters.stateWaiting))
    gauge("diorama_event_streams", "Streams of journal events that are open.", Double(server.streams.count))
    counter("diorama_store_failures_total", "Writes that the store refused.", counters.storeFailures)
    family(
      "diorama_control_requests_total", .counter, "Requests to the control API, by operation and status.",
      server.calls.all.map { ("operation=\"\($0.key.operation)\",status=\"\($0.key.status)\"", Double($0.count)) })
    process()
  }

  private mutating func process() {
    let figures = ProcessFigures()
    family(
      "process_cpu_seconds_total", .counter, "Processor time of user and system.", [("", figures.cpuSeconds)])
    if let bytes = figures.residentBytes {
      gauge("process_resident_memory_bytes", "Resident memory.", Double(bytes))
    }
    if let count = figures.descriptors { gauge("process_open_fds", "Open descriptors.", Double(count)) }
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
