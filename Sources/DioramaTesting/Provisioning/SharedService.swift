import ChildProcesses
import EnvironmentService

/// The environments of this process live in one service: one pool of server threads, one client.
enum SharedService {
  /// Made on first use, and there until the process ends.
  static let service = Result { () throws(EnvironmentError) in
    OpenFiles.raiseLimit()
    return try EnvironmentService()
  }
}
