import Basics
import CassetteChecks
import DaemonClient
import EnvironmentService
import Foundation
import HTTPMessages

/// A command's connection to the daemon.
struct DaemonAccess {
  static let option = Options.Option(
    "--state", "DIR", "the daemon's state folder (default: see diorama serve)")

  private let home: DaemonHome
  /// Whether `DIORAMA_DAEMON` may name a daemon on another machine.
  private let mayBeRemote: Bool

  /// - Parameter options: with ``option``, which takes precedence over `DIORAMA_DAEMON`.
  init(_ options: Options) { self.init(options, mayBeRemote: options.value("--state") == nil) }

  /// A connection to the daemon on this machine, for what is managed only there.
  ///
  /// - Parameter options: with ``option``.
  init(local options: Options) { self.init(options, mayBeRemote: false) }

  /// A connection to the daemon that the variables name.
  init() {
    mayBeRemote = true
    home = .standard(variables: ProcessInfo.processInfo.environment)
  }

  private init(_ options: Options, mayBeRemote: Bool) {
    self.mayBeRemote = mayBeRemote
    home =
      options.value("--state").map(DaemonHome.init) ?? .standard(variables: ProcessInfo.processInfo.environment)
  }

  /// The daemon on another machine that `DIORAMA_DAEMON` names; nil for the one on this machine.
  var remote: RemoteDaemon? {
    get throws(DaemonClientError) {
      mayBeRemote ? try RemoteDaemon(variables: ProcessInfo.processInfo.environment) : nil
    }
  }

  /// Calls the daemon and waits for the answer.
  ///
  /// - Parameters:
  ///   - starting: whether to start a daemon if none is running.
  ///   - work: the call.
  /// - Returns: the answer.
  /// - Throws: `DaemonClientError`.
  func ask<Answer: Sendable>(
    starting: Bool = false, _ work: @escaping @Sendable (DaemonClient) async throws(DaemonClientError) -> Answer
  ) throws(DaemonClientError) -> Answer {
    let remote = try remote
    let result = blocking { [home] () async -> Result<Answer, DaemonClientError> in
      do throws(DaemonClientError) {
        let client =
          if let remote {
            try await DaemonClient.connect(to: remote)
          } else if starting {
            try await DaemonStarter(home: home, program: Self.ownPath).connect()
          } else {
            try await DaemonClient.connect(to: home)
          }
        return .success(try await work(client))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// The path of this executable.
  private static var ownPath: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }
}

extension DaemonClientError {
  /// The command's exit status.
  var exitStatus: Int32 {
    guard case .refused(let status, let problem) = kind else { return CodedError.Kind.noUpstream.rawValue }
    if let kind = problem.flatMap(CodedError.Kind.init(name:)) { return kind.rawValue }
    let kind: CodedError.Kind =
      switch status {
      case 400, 413, 422: .usage
      case 404, 410: .noCassette
      case 500: .inputOutput
      default: .noUpstream
      }
    return kind.rawValue
  }
}

/// The process that called this command: the default owner of ports and environments.
///
/// For `$(…)`, a shell forks a copy of itself. Usually the copy executes the command, whose parent is then the shell.
/// In a pipeline, after `cd`, or in a function, the copy stays the command's parent and exits right after it, so it
/// must not become the owner. Such a copy is recognized by two signs: it hasn't called execve(2), so its memory layout
/// equals its parent's, and it writes into a pipe that its parent reads. A subshell `( … )` doesn't write into such a
/// pipe, and counts as a caller.
enum CallingProcess {
  /// Maximum depth of nested substitutions.
  private static let mostCopies = 16

  static var pid: Int32 {
    var pid = getppid()
    #if os(Linux)
      for _ in 0..<mostCopies {
        guard let parent = ProcessImage(pid).flatMap({ $0.isSubstitution ? $0.parent : nil }) else { break }
        pid = parent
      }
    #endif
    return pid
  }
}

#if os(Linux)
  /// A process as described by proc(5).
  private struct ProcessImage {
    let parent: Int32
    private let pid: Int32
    /// The executable, and the addresses of the stack and the arguments, which execve(2) randomizes.
    private let marks: [String]

    /// Nil if the process doesn't exist, or belongs to another user.
    init?(_ pid: Int32) {
      self.pid = pid
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat"),
        let program = Self.target(of: "/proc/\(pid)/exe")
      else { return nil }
      // Fields after the name, which may contain anything. The first of them is field 3.
      let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 45, let parent = Int32(fields[1]), fields[25] != "0" else { return nil }
      self.parent = parent
      marks = [program, String(fields[25]), String(fields[45])]
    }

    /// Whether the process is the copy of a shell for `$(…)`.
    var isSubstitution: Bool {
      guard parent > 1, let shell = ProcessImage(parent), shell.marks == marks,
        let output = Self.target(of: "/proc/\(pid)/fd/1"), output.hasPrefix("pipe:")
      else { return false }
      return shell.holds(output)
    }

    private func holds(_ target: String) -> Bool {
      let folder = "/proc/\(pid)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { Self.target(of: "\(folder)/\($0)") == target }
    }

    private static func target(of link: String) -> String? {
      try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    }
  }
#endif
