package import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentManager {
  /// Ends an environment; whoever asks again while it ends gets the same, later 410.
  ///
  /// - Parameters:
  ///   - id: which.
  ///   - keepEmptyRecording: whether a recording of nothing at all becomes a cassette.
  /// - Returns: the report.
  /// - Throws: a ``DaemonError``: 404 for one that never was, 410 for one that has ended.
  package func end(_ id: String, keepEmptyRecording: Bool = true) async throws(DaemonError) -> Report {
    noteUse()
    return try await end(id, because: .request, keepEmptyRecording: keepEmptyRecording)
  }

  func end(_ id: String, because cause: EndCause, keepEmptyRecording: Bool) async throws(DaemonError) -> Report {
    let hosted = try beginEnd(id, because: cause, keepEmptyRecording: keepEmptyRecording)
    await hosted.isOver.wait()
    guard let report = hosted.report else {
      throw DaemonError(
        500, "The environment has no report", "environment \(id) ended without one; see the daemon's log")
    }
    return report
  }

  /// Sees to it that it ends, and does not wait for that.
  @discardableResult
  func beginEnd(
    _ id: String, because cause: EndCause, keepEmptyRecording: Bool
  ) throws(DaemonError) -> HostedEnvironment {
    let step = try lifecycle.withLock { lifecycle throws(DaemonError) in try lifecycle.end(id, because: cause) }
    switch step {
    case .begin(let hosted):
      // Whoever asked may leave; the end goes on.
      Task(executorPreference: workers) { [self] in
        await finish(hosted, because: cause, keepEmptyRecording: keepEmptyRecording)
      }
      return hosted
    case .join(let hosted): return hosted
    }
  }

  private func finish(_ hosted: HostedEnvironment, because cause: EndCause, keepEmptyRecording: Bool) async {
    do throws(StoreError) {
      // Before the cassette is sealed: a kill after that must not bring back what would record over it.
      try hosted.saveEnding()
    } catch {
      tally.change { $0.storeFailures += 1 }
      log.error("an end could not be stored", ["environment": "\(hosted.id)", "reason": "\(error)"])
    }
    if let environment = hosted.environment {
      let (report, _) = await environment.end(keepingEmptyRecording: keepEmptyRecording)
      hosted.attach(report)
      log.info(
        "an environment has ended",
        [
          "environment": "\(hosted.id)", "name": "\(hosted.name)", "cause": "\(cause.rawValue)",
          "requests": .int(report.requests.total), "ok": report.ok ? "true" : "false",
        ])
    }
    leaveNothing(of: hosted)
    let bytes = hosted.report.map { (try? ContractJSON.encode($0)).map(Array.init) ?? [] } ?? []
    lifecycle.withLock { $0.ended(hosted.id, report: bytes) }
    hosted.isOver.open()
  }
}
