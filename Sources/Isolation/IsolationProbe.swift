package import Basics
import ChildProcesses
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Which steps of the isolation work on this machine: the output of `diorama-isolate --probe`.
package struct IsolationProbe: Sendable, Equatable {
  /// A step, in the order in which they are tried.
  package struct Step: Sendable, Equatable {
    package enum Result: Sendable, Equatable {
      case works
      /// A system call failed; the advice is what would allow it.
      case failed(call: String, message: String, advice: String)
      /// The step that has to work first.
      case notTried(needs: String)
    }

    package var name: String
    package var result: Result

    package init(name: String, result: Result) {
      self.name = name
      self.result = result
    }
  }

  /// A kind of isolation.
  package enum Kind: String, Sendable {
    case namespaces, seccomp
  }

  package let steps: [Step]

  /// Runs the probe, which takes some milliseconds and changes nothing.
  ///
  /// - Parameters:
  ///   - helper: the helper.
  ///   - kind: the kind of isolation.
  /// - Throws: ``CodedError`` if it cannot be run, or its output cannot be parsed.
  package init(_ helper: IsolationHelper, of kind: Kind = .namespaces) throws(CodedError) {
    let output: String
    let words = [helper.path, "--probe"] + (kind == .seccomp ? ["seccomp"] : [])
    do { output = try Self.output(of: words) } catch {
      throw CodedError(.noUpstream, error.message)
    }
    try self.init(output: output, of: helper.path)
  }

  /// Parses the output.
  ///
  /// - Parameters:
  ///   - output: the lines.
  ///   - path: the helper's path, for an error.
  /// - Throws: ``CodedError`` for a line that the protocol does not define.
  package init(output: String, of path: String) throws(CodedError) {
    func error() -> CodedError {
      CodedError(
        .noUpstream,
        "unexpected output of \(path) --probe: '\(output.prefix(200))'; install diorama and diorama-isolate "
          + "of the same version"
      )
    }
    steps = try output.split(separator: "\n").map { line throws(CodedError) in
      guard let step = Step(line: String(line)) else { throw error() }
      return step
    }
    guard !steps.isEmpty else { throw error() }
  }

  /// The steps that only the clock and random values need.
  private static let controls: Set = ["random devices", "vDSO", "seccomp notification", "process memory"]

  /// Whether commands can be isolated by namespaces.
  package var works: Bool { steps.allSatisfy { $0.result == .works || Self.controls.contains($0.name) } }

  /// Whether isolated commands can have the environment's clock and random values.
  package var hasControls: Bool { works && steps.allSatisfy { $0.result == .works } }

  /// The failed steps, each in one line with the advice.
  package var problems: [String] {
    steps.compactMap { step in
      guard case .failed(let call, let message, let advice) = step.result else { return nil }
      return "\(step.name): \(call): \(message); \(advice)"
    }
  }

  /// Commands and files that would allow the failed steps, ready to be pasted.
  ///
  /// - Parameter path: the helper's path.
  /// - Returns: the lines, without duplicates; empty if nothing is known.
  package func remedies(for path: String) -> [String] {
    var lines: [String] = []
    for case .failed(_, _, let advice) in steps.map(\.result) {
      lines += Self.remedy(for: advice, helper: path).filter { !lines.contains($0) }
    }
    return lines
  }

  /// - Parameters:
  ///   - advice: an advice of the helper.
  ///   - helper: the helper's path.
  /// - Returns: the same as shell commands; empty if it has none.
  static func remedy(for advice: String, helper: String) -> [String] {
    var lines: [String] = []
    if advice.contains("AppArmor profile") {
      // apparmor.d(5), as Ubuntu's own profiles for programs that create user namespaces.
      lines = [
        "sudo tee /etc/apparmor.d/diorama-isolate <<'END'", "abi <abi/4.0>,", "include <tunables/global>",
        "profile diorama-isolate \"\(helper)\" flags=(unconfined) {", "  userns,", "}", "END",
        "sudo apparmor_parser -r /etc/apparmor.d/diorama-isolate",
      ]
    } else if let setting = advice.firstMatch(of: /sysctl ([a-z_.]+=[0-9]+)/) {
      lines = ["sudo sysctl -w \(setting.1)"]
    }
    if let modules = advice.firstMatch(of: /kernel modules? ([a-z_]+)(?: and ([a-z_]+))?/) {
      lines.append(
        (["sudo modprobe -a", String(modules.1)] + (modules.2.map { [String($0)] } ?? [])).joined(separator: " "))
    }
    if let options = advice.firstMatch(of: /in a container, add the options? (--[^(,;]*[^(,; ])/) {
      lines.append("docker run \(options.1) …")
    }
    if advice.contains("mount -t proc") { lines.append("sudo mount -t proc proc /proc") }
    return lines
  }

  private static func output(of words: [String]) throws(NotStarted) -> String {
    let pipe = try DescriptorPair.pipe()
    defer { close(pipe.read) }
    var spawn = Spawn(arguments: words.map { Array($0.utf8) }, environment: [])
    spawn.files = [.open("/dev/null", flags: O_RDONLY, as: 0), .pass(pipe.write, as: 1)]
    spawn.closesOthers = true
    let result = Result { () throws(NotStarted) in try spawn.start() }
    close(pipe.write)
    let pid = try result.get()
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(pipe.read, $0.baseAddress, $0.count) }
      if count > 0 { bytes += buffer[..<count] } else if count == 0 || errno != EINTR { break }
    }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension IsolationProbe.Step {
  /// Parses `STEP: ok`, `STEP: failed: CALL: MESSAGE; ADVICE` or `STEP: not tried, because it needs: STEP`.
  fileprivate init?(line: String) {
    guard let (name, rest) = Self.split(line, { $0.firstRange(of: ": ") }) else { return nil }
    let untried = "not tried, because it needs: "
    if rest == "ok" {
      self.init(name: name, result: .works)
    } else if rest.hasPrefix(untried) {
      self.init(name: name, result: .notTried(needs: String(rest.dropFirst(untried.count))))
    } else {
      // A call can contain a colon, its message and the advice's beginning cannot.
      let failed = "failed: "
      guard rest.hasPrefix(failed),
        let (cause, advice) = Self.split(String(rest.dropFirst(failed.count)), { $0.firstRange(of: "; ") }),
        let (call, message) = Self.split(cause, { $0.ranges(of: ": ").last })
      else { return nil }
      self.init(name: name, result: .failed(call: call, message: message, advice: advice))
    }
  }

  private static func split(_ text: String, _ find: (String) -> Range<String.Index>?) -> (String, String)? {
    find(text).map { (String(text[..<$0.lowerBound]), String(text[$0.upperBound...])) }
  }
}
