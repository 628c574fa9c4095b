import EnvironmentService
import LaunchContract
import PortLeases

extension DaemonError {
  /// What an environment says.
  ///
  /// None of it is the daemon's own failure, which 5xx would mean: it is what was asked for, or the state of the
  /// machine's files and ports.
  ///
  /// What an operation can answer by any of these stands in its ``Route``, too; a test holds the two together.
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
      case .notRecorded: (507, "The lease could not be stored")
      case .system: (503, "The lease could not be made")
      }
    self.init(status, title, error.message)
  }

  /// What an environment says to a change: the one thing that it cannot write then is what a restart must know.
  init(ofChange error: EnvironmentError) {
    if error.kind == .cannotWrite {
      self.init(507, "The change could not be stored", error.message, kind: error.kind.name)
    } else {
      self.init(error)
    }
  }

  /// Something of an environment could not be stored: no room, most of the time.
  init(_ error: StoreError) {
    if error.kind == .closed {
      self.init(503, "The daemon is ending", "start it again with diorama serve, then ask again")
    } else {
      self.init(507, "The environment could not be stored", "\(error)", kind: EnvironmentError.Kind.cannotWrite.name)
    }
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
