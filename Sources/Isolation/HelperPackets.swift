package import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A packet to `diorama-isolate`. `Sources/IsolationHelper/PROTOCOL.md` describes the protocol.
package enum HelperRequest: Sendable, Equatable {
  /// The version of the protocol.
  private static let version = "1"
  /// What to do if the system does not permit a clock or random values: continue and say so.
  private static let wish = "optional"
  /// The size that execve(2) accepts for one argument or variable with the null byte at its end (MAX_ARG_STRLEN).
  static let limit = 128 << 10

  /// The next argument of the command.
  case argument([UInt8])
  /// A variable of the command, as `NAME=VALUE`.
  case variable([UInt8])
  /// Mounts a file over a file, or a folder over a folder; both are absolute paths.
  case bind(source: String, target: String)
  /// Gives the command the clock of a page, whose descriptor comes with the packet, if the system permits it.
  case clock
  /// Gives the command random values that depend on a seed only, if the system permits it.
  case random(seed: String)
  /// Loads a library into the command's programs, for waits of their clock.
  case preload(String)
  /// Supervises the system calls of the command, in place of namespaces; it may reach these ports of this machine.
  case supervisedNetwork(ports: [UInt16])
  /// Creates the namespaces.
  case setup
  /// Starts the command.
  case start
  /// Creates a socket inside.
  case socket(IsolatedSocketKind)

  /// The packet's bytes.
  ///
  /// - Returns: the fields, separated by null bytes.
  /// - Throws: ``CodedError`` for a value with a null byte, a variable without `=`, a relative path, or a value that is
  ///   too long for an argument.
  package func encoded() throws(CodedError) -> [UInt8] {
    let fields: [[UInt8]] =
      switch self {
      case .argument(let value): [Array("arg".utf8), value]
      case .variable(let value): [Array("env".utf8), value]
      case .bind(let source, let target): ["bind", source, target].map { Array($0.utf8) }
      case .clock: ["clock", Self.wish].map { Array($0.utf8) }
      case .random(let seed): ["random", Self.wish, seed].map { Array($0.utf8) }
      case .preload(let path): ["preload", path].map { Array($0.utf8) }
      case .supervisedNetwork(let ports):
        ["network", "seccomp", ports.map(String.init).joined(separator: ",")].map { Array($0.utf8) }
      case .setup: ["setup", Self.version].map { Array($0.utf8) }
      case .start: [Array("start".utf8)]
      case .socket(let kind): ["socket", kind.rawValue].map { Array($0.utf8) }
      }
    for value in fields.dropFirst() {
      if value.contains(0) { throw error("contains a null byte; remove it") }
      guard value.count < Self.limit else {
        throw error(
          "has \(value.count) bytes, and Linux accepts at most \(Self.limit - 1) in one; pass the value in a file")
      }
      switch self {
      case .variable where !value.contains(UInt8(ascii: "=")): throw error("has no '='; remove it")
      case .bind, .preload:
        guard value.first == UInt8(ascii: "/") else { throw error("is not an absolute path; add its folder") }
      default: break
      }
    }
    return Array(fields.joined(separator: [0]))
  }

  private func error(_ problem: String) -> CodedError {
    CodedError(.usage, "cannot isolate the command: \(subject) \(problem)")
  }

  /// What the packet carries, without the value of a variable, which may be secret.
  private var subject: String {
    func start(_ bytes: [UInt8]) -> String {
      String(decoding: bytes.prefix(60), as: UTF8.self) + (bytes.count > 60 ? "…" : "")
    }
    return switch self {
    case .argument(let value): "the argument '\(start(value))'"
    case .variable(let value): "the variable '\(start(Array(value.prefix { $0 != UInt8(ascii: "=") })))'"
    case .bind(let source, let target): "mounting '\(start(Array(source.utf8)))' over '\(start(Array(target.utf8)))'"
    case .random: "the seed"
    case .preload(let path): "the library '\(start(Array(path.utf8)))'"
    case .clock, .supervisedNetwork, .setup, .start, .socket: "the request"
    }
  }
}

/// A kind of socket in the network of an isolated command.
package enum IsolatedSocketKind: String, Sendable, CaseIterable {
  case tcp4, tcp6
}

/// A packet from `diorama-isolate`.
package enum HelperReply: Sendable, Equatable {
  /// The answer to ``HelperRequest/setup``, with three descriptors.
  case ready
  /// The answer to ``HelperRequest/socket(_:)``, with a descriptor.
  case socket
  /// The command has ended.
  case exited(Int32)
  /// A signal killed the command.
  case signaled(Int32)
  /// The command has the real clock or real random values, because a step failed.
  case unavailable(String, HelperFailure)
  /// A program keeps the real clock or real random values, reads its clock slowly, or has no network, and why.
  case report(String)
  /// A step failed.
  case failed(HelperFailure)

  /// Parses a packet.
  ///
  /// - Parameter packet: its bytes.
  /// - Throws: ``CodedError`` for a packet that the protocol does not define.
  package init(_ packet: [UInt8]) throws(CodedError) {
    let fields = packet.split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    switch (fields[0], fields.count) {
    case ("ready", 1): self = .ready
    case ("socket", 1): self = .socket
    case ("exited", 2):
      guard let status = Int32(fields[1]) else { throw Self.unknown(packet) }
      self = .exited(status)
    case ("signaled", 2):
      guard let signal = Int32(fields[1]) else { throw Self.unknown(packet) }
      self = .signaled(signal)
    case ("report", 2): self = .report(fields[1])
    case ("clock", 3...7), ("random", 3...7):
      guard fields[1] == "unavailable" else { throw Self.unknown(packet) }
      self = .unavailable(fields[0], HelperFailure(fields: fields.dropFirst(2)))
    case ("failed", 2...6): self = .failed(HelperFailure(fields: fields.dropFirst()))
    default: throw Self.unknown(packet)
    }
  }

  private static func unknown(_ packet: [UInt8]) -> CodedError {
    CodedError(
      .noUpstream,
      "unexpected packet from diorama-isolate: '\(String(decoding: packet.prefix(80), as: UTF8.self))'; install "
        + "diorama and diorama-isolate of the same version")
  }
}

/// A step of the isolation that failed.
package struct HelperFailure: Error, Equatable {
  /// The step, such as `network namespaces`.
  package var step: String
  /// The system call with its arguments; empty for a defect of the request.
  package var call: String
  /// The call's errno; 0 for a defect of the request.
  package var error: Int32
  /// What the error means.
  package var message: String
  /// What would make the step work.
  package var advice: String

  package init(step: String, call: String, error: Int32, message: String, advice: String) {
    self.step = step
    self.call = call
    self.error = error
    self.message = message
    self.advice = advice
  }

  /// Reads the fields of a packet. It has at most 4 KiB, so a long path in CALL can cost the last ones.
  init(fields: ArraySlice<String>) {
    let all = Array(fields) + [String](repeating: "", count: 5 - fields.count)
    self.init(step: all[0], call: all[1], error: Int32(all[2]) ?? 0, message: all[3], advice: all[4])
  }

  /// The status that a shell returns if the command itself could not be started; nil for other steps.
  var shellStatus: Int32? {
    switch step {
    case "command": error == ENOENT ? 127 : 126
    case "working directory": 126
    default: nil
    }
  }

  /// The failure as an error of the command that was to be isolated.
  package var codedError: CodedError {
    let what = shellStatus == nil ? "cannot isolate the command: \(step)" : "cannot run the command"
    return CodedError(.noUpstream, text(what))
  }

  /// The failure in one line.
  ///
  /// - Parameter what: how the line begins.
  /// - Returns: the line, with the advice at its end.
  func text(_ what: String) -> String {
    let cause = [what, call, message].filter { !$0.isEmpty }.joined(separator: ": ")
    return advice.isEmpty ? cause : "\(cause); \(advice)"
  }
}
