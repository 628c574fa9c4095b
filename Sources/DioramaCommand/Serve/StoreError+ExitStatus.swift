import Daemon
import EnvironmentService

extension StoreError {
  /// The exit status of a daemon that cannot begin because of its state.
  var exitStatus: Int32 {
    let kind: EnvironmentError.Kind =
      switch self.kind {
      case .inUse: .noUpstream
      case .newer, .corrupt: .broken
      case .full, .notPermitted: .cannotWrite
      case .closed, .other: .inputOutput
      }
    return kind.rawValue
  }
}
