import ControlAPI
import EnvironmentService
import Foundation

extension FleetRun {
  /// What the fleet learns of an environment that has begun.
  init(_ hosted: HostedEnvironment, host: String) {
    self.init(
      id: hosted.id, host: host, name: String(hosted.name.prefix(500)), mode: hosted.mode,
      cassette: hosted.environment?.specification.cassette?.har, startedAt: "")
    resources = hosted.environment?.specification.heldResources
  }

  /// What the fleet learns of a report: no bodies, and no values of requests.
  mutating func take(_ report: Report) {
    mode = report.mode
    recordedAt = report.recordedAt
    ok = report.ok
    seconds = report.durationSeconds
    requests = report.requests.total
    interactions = report.interactions
    // A run that failed may have used too little.
    if report.ok, report.mode == "replay" { unused = report.unused.map(\.index) }
    misses = report.unmatched.prefix(20).map { miss in
      Miss(
        method: miss.method, url: String(miss.url.prefix(2000)),
        causes: (miss.fix?.causes ?? []).map { "\($0.location) (\($0.kind))" } + (miss.refusal.map { [$0] } ?? []))
    }
    failures = report.failures.prefix(20).map { String($0.prefix(500)) }
    contract = (report.contractViolations ?? []).prefix(20).map { String($0.prefix(500)) }
  }
}
