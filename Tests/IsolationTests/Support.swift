import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Isolation

/// The helper of this build, and whether this machine permits namespaces.
enum Machine {
  static let helper = Result { () throws(CodedError) in try IsolationHelper(variables: [:]) }

  /// Whether commands can have a clock and random values of their own.
  static let hasControls = (try? IsolationProbe(helper.get()).hasControls) ?? false

  /// Why commands cannot be isolated here; nil if they can.
  static let problem = problem(of: .namespaces)
  /// Why they cannot be supervised.
  static let supervisionProblem = problem(of: .seccomp)

  private static func problem(of kind: IsolationProbe.Kind) -> String? {
    do {
      let probe = try IsolationProbe(try helper.get(), of: kind)
      return probe.works ? nil : probe.problems.joined(separator: "\n")
    } catch {
      return "\(error)"
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test where commands cannot be isolated, and prints the reason.
  static var needsNamespaces: Self { .enabled(if: Machine.problem == nil, "\(Machine.problem ?? "")") }

  /// Skips a test where they cannot be supervised by seccomp, and prints the reason.
  static var needsSupervision: Self {
    .enabled(if: Machine.supervisionProblem == nil, "\(Machine.supervisionProblem ?? "")")
  }
}

/// A temporary folder, removed when deallocated.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/diorama-isolation-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
  }

  /// Writes a script. Another process writes it, since a child that a concurrent test is forking could hold our
  /// descriptor, which would make exec fail (ETXTBSY).
  func writeScript(_ text: String, to name: String) throws {
    let script = "mkdir -p \"${2%/*}\"; printf %s \"$1\" >\"$2\"; chmod +x \"$2\""
    let words = ["sh", "-c", script, "sh", text, file(name)]
    _ = try Child(words.map { Array($0.utf8) }, environment: ["PATH": Isolated.path]).finish()
  }

  /// A helper for which the kernel permits no namespaces of a kind: `user`, `pid`, `mnt` or `net`.
  func limitedHelper(_ kind: String) throws -> IsolationHelper {
    let helper = try Machine.helper.get().path
    try writeScript(
      """
      #!/bin/sh
      exec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_\(kind)_namespaces && exec "$0" "$@"' \\
        '\(helper)' "$@"

      """, to: "limited")
    return try IsolationHelper(variables: [IsolationHelper.variable: file("limited")])
  }
}

/// A command inside, with its output. Its methods block: call them inside `onThread`.
final class Isolated: Sendable {
  static let path = "/usr/local/bin:/usr/bin:/bin"

  let command: IsolatedCommand
  /// The helper.
  let pid: pid_t
  private let output: Int32
  /// What the command reads from.
  private let input: Int32
  private let isReaped = Guarded(false)
  private let network: Guarded<IsolatedNetwork?>

  /// Starts the helper, and creates the namespaces.
  init(
    _ arguments: [[UInt8]], variables: [[UInt8]] = ["PATH=\(Isolated.path)"].map { Array($0.utf8) },
    network kind: IsolatedCommand.Network = .namespaces, binds: [IsolatedCommand.Bind] = [],
    control: IsolatedCommand.Control = .init(), helper: IsolationHelper? = nil
  ) throws {
    let pipe = try DescriptorPair.pipe()
    let inputPipe = try DescriptorPair.pipe()
    defer {
      close(pipe.write)
      close(inputPipe.read)
    }
    output = pipe.read
    input = inputPipe.write
    network = Guarded(nil)
    do {
      command = try IsolatedCommand(
        arguments, environment: variables, network: kind, binds: binds, control: control,
        files: [.pass(inputPipe.read, as: 0), .pass(pipe.write, as: 1)],
        helper: try helper ?? Machine.helper.get())
      var spawn = command.spawn
      spawn.ownGroup = true
      var none = sigset_t()
      sigemptyset(&none)
      spawn.blockedSignals = none
      spawn.defaultSignals = [SIGINT, SIGTERM, SIGPIPE, SIGCHLD]
      pid = try spawn.start()
    } catch {
      close(pipe.read)
      close(inputPipe.write)
      throw error
    }
    let network = try command.handshake()
    self.network.withLock { $0 = network }
  }

  convenience init(
    _ words: String..., binds: [IsolatedCommand.Bind] = [], control: IsolatedCommand.Control = .init()
  ) throws {
    try self.init(words.map { Array($0.utf8) }, binds: binds, control: control)
  }

  deinit {
    closeNetwork()
    if !isReaped.withLock({ $0 }) {
      kill(pid, SIGKILL)
      wait()
    }
    close(output)
    close(input)
  }

  /// Writes to the command's standard input.
  func write(_ text: String) { _ = text.withCString { Glibc.write(input, $0, strlen($0)) } }

  /// The descriptors of the network.
  var sockets: IsolatedNetwork? { network.withLock { $0 } }

  func closeNetwork() {
    network.withLock { network in
      network?.close()
      network = nil
    }
  }

  /// Waits for the helper.
  ///
  /// - Returns: its status as a shell shows it.
  @discardableResult
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    isReaped.withLock { $0 = true }
    return WaitStatus(status).shellStatus
  }

  /// Reads standard output to its end, or until it ends with a text.
  func read(until end: String? = nil) -> [UInt8] {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while end.map({ !bytes.suffix($0.utf8.count).elementsEqual($0.utf8) }) ?? true {
      let count = Glibc.read(output, &byte, 1)
      if count == 1 { bytes.append(byte) } else if count == 0 || errno != EINTR { break }
    }
    return bytes
  }

  /// Reads a line.
  func line() -> String { String(decoding: read(until: "\n").dropLast(), as: UTF8.self) }

  /// Runs the command to its end.
  func finish() throws -> (status: Int32, output: [UInt8], end: IsolatedCommand.End) {
    try command.start()
    let output = read()
    let status = wait()
    return (status, output, try command.end())
  }

  /// The helper's descendants.
  var descendants: [pid_t] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    var parents: [pid_t: pid_t] = [:]
    for pid in all.compactMap({ pid_t($0) }) {
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat"),
        let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " "),
        fields.count > 1
      else { continue }
      parents[pid] = pid_t(fields[1])
    }
    var found: [pid_t] = [pid]
    var index = 0
    while index < found.count {
      found += parents.filter { $0.value == found[index] }.map(\.key)
      index += 1
    }
    return Array(found.dropFirst())
  }
}

/// Programs in Python.
enum Python {
  /// Without the user's modules; starts in about 20 ms.
  static let words = ["/usr/bin/python3", "-I", "-S", "-u", "-c"]

  /// Runs a program outside.
  static func run(_ program: String, _ arguments: String...) throws -> Child.Outcome {
    try Child((words + [program] + arguments).map { Array($0.utf8) }, environment: ["PATH": Isolated.path]).finish()
  }

  /// A server that prints its port. The first byte of a connection chooses what it does.
  static let server = """
    import select, socket, struct, sys, threading
    def serve(connection):
        with connection:
            kind = connection.recv(1)
            if kind == b"e":  # sends everything back
                while part := connection.recv(65536): connection.sendall(part)
            elif kind == b"c":  # counts bytes to the end
                count = 0
                while part := connection.recv(65536): count += len(part)
                connection.sendall(str(count).encode())
            elif kind == b"s":  # sends 128 MiB, and prints how much fits before the reader reads
                sent, rest, stalled = 0, 128 << 20, False
                connection.setblocking(False)
                while sent < rest:
                    if not select.select([], [connection], [], None if stalled else 2)[1]:
                        stalled = True
                        print("stalled", sent, flush=True)
                        continue
                    sent += connection.send(bytes(min(65536, rest - sent)))
                print("sent", stalled, flush=True)
            elif kind == b"r":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    host, port = sys.argv[1], int(sys.argv[2])
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512)
    print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """

  /// A client that sends `head`, then `count` bytes, and prints what comes back.
  static let client = """
    import hashlib, socket, sys, threading
    host, port, head, count = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), int(sys.argv[4])
    # The system reports a reset to one of the two threads only.
    errors = []
    def send():
        try:
            connection.sendall(head)
            block = bytes(range(256)) * 256
            for _ in range(count // len(block)): connection.sendall(block)
            connection.sendall(block[:count % len(block)])
            connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            errors.append(error)
    try:
        connection = socket.create_connection((host, port), timeout=120)
        thread = threading.Thread(target=send)
        thread.start()
        total, digest, last = 0, hashlib.sha256(), b""
        while part := connection.recv(65536):
            total += len(part)
            digest.update(part)
            last = part
        thread.join()
        if errors: raise errors[0]
        print(total, digest.hexdigest() if total > 100 else last.decode())
    except OSError as error:
        print(type(error).__name__)
    """
}
