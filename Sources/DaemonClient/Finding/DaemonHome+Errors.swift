import ControlAPI
import HTTPClient

// What to say where no daemon answers, each with what to do next.
extension DaemonHome {
  /// None has been started.
  var nobody: DaemonClientError {
    DaemonClientError(.noDaemon, "no daemon runs for \(folder); start one with: diorama serve --state \(folder)")
  }

  func dead(_ control: ControlFile) -> DaemonClientError {
    DaemonClientError(
      .dead,
      "the daemon of \(folder) (process \(control.pid)) is gone without a word; start it again, and it takes up what it "
        + "had: diorama serve --state \(folder)")
  }

  func suspended(_ control: ControlFile) -> DaemonClientError {
    DaemonClientError(
      .suspended,
      "the daemon of \(folder) (process \(control.pid)) is suspended; let it go on with: kill -CONT \(control.pid)")
  }

  func unresponsive(_ control: ControlFile, _ patience: Duration) -> DaemonClientError {
    DaemonClientError(
      .unresponsive,
      "the daemon of \(folder) (process \(control.pid)) has not answered for \(patience); see what it does, or end it: kill \(control.pid)"
    )
  }

  /// A request that got no answer.
  func failure(_ error: any Error, _ control: ControlFile) -> DaemonClientError {
    if error is CancellationError {
      return DaemonClientError(.unresponsive, "the wait for the daemon of \(folder) was cancelled")
    }
    guard let error = error as? UpstreamError else {
      return DaemonClientError(.notUnderstood, "the daemon of \(folder): \(error)")
    }
    switch error.kind {
    case .other: return DaemonClientError(.notUnderstood, "the daemon of \(folder): \(error)")
    case .cut where ProcessState(of: control.pid) != .gone:
      return DaemonClientError(
        .dead,
        "the daemon of \(folder) (process \(control.pid)) ended the connection without an answer; look into its log")
    default:
      // A socket nobody accepts from is full at some time.
      return ProcessState(of: control.pid) == .stopped ? suspended(control) : dead(control)
    }
  }
}
