import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a process is doing, as far as another may know.
package enum ProcessState: Sendable, Equatable {
  case running
  /// Stopped by a signal: it does nothing until it is continued.
  case stopped
  /// There is none of this id, or only its remains.
  case gone

  /// Looks.
  ///
  /// - Parameter pid: the process's id.
  package init(of pid: Int32) {
    guard pid > 0 else {
      self = .gone
      return
    }
    #if canImport(Darwin)
      self = kill(pid, 0) == 0 || errno == EPERM ? .running : .gone
    #else
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else {
        self = .gone
        return
      }
      self.init(statLine: String(decoding: data, as: UTF8.self))
    #endif
  }

  /// What a line of `/proc/PID/stat` says (proc(5)): the state stands behind the name, which may hold anything.
  init(statLine: String) {
    let state = statLine.lastIndex(of: ")").map { statLine[$0...].dropFirst(2) }?.first
    self =
      switch state {
      case "T", "t": .stopped
      case "Z", "X", "x", nil: .gone
      default: .running
      }
  }
}
