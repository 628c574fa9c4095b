import EnvironmentService
import LaunchContract
import PortLeases

extension DaemonError {
  /// What an environment says.
  ///
  /// None of it is the daemon's own failure, which 5xx would mean: it is what was asked for, or the state of the
  /// machine's files and ports.
  init(_ error: EnvironmentError) {
    let (status, title) =
      switch error.kind {
      case .usage: (422, "The environment cannot be so")
      case .broken: (422, "The cassette is broken")
      case .noCassette: (422, "There is no such cassette")
      case .noUpstream: (422, "An upstream is missing")
      case .cannotWrite: (409, "It cannot be written")
      case .inputOutput: (409, "The system refuses")
      case .unanswered: (409, "The app did not answer in time")
      }
    self.init(status, title, error.message, kind: "\(error.kind)")
  }

  init(_ error: PortError) {
    let (status, title) =
      switch error.kind {
      case .exhausted: (409, "There are not enough ports")
      case .notLeased: (404, "The port is not leased")
      case .invalid: (422, "There is no such lease")
      case .notRecorded, .system: (503, "The lease could not be made")
      }
    self.init(status, title, error.message)
  }

  init(_ error: ContractError) {
    self.init(422, "The launch contract cannot be so", "\(error)")
  }

  static func translating<Output>(
    _ body: () throws(EnvironmentError) -> Output
  ) throws(DaemonError) -> Output {
    do throws(EnvironmentError) { return try body() } catch { throw DaemonError(error) }
  }

  static func translating<Output>(_ body: () throws(PortError) -> Output) throws(DaemonError) -> Output {
    do throws(PortError) { return try body() } catch { throw DaemonError(error) }
  }

  static func translating<Output>(_ body: () throws(ContractError) -> Output) throws(DaemonError) -> Output {
    do throws(ContractError) { return try body() } catch { throw DaemonError(error) }
  }
}
