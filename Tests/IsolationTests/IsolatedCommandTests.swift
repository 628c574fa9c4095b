import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Isolation

@Suite("Isolated commands", .needsNamespaces, .timeLimit(.minutes(5)))
struct IsolatedCommandTests {
  @Test("print, and exit with their status")
  func status() async throws {
    try await onThread {
      let (status, output, end) = try Isolated("sh", "-c", "echo $$; exit 7").finish()
      // Process 1 inside is the helper's.
      #expect(status == 7 && output == Array("2\n".utf8) && end == .exited(status: 7))
    }
  }

  @Test("report the signal that killed them")
  func signal() async throws {
    try await onThread {
      let (status, _, end) = try Isolated("sh", "-c", "kill -TERM $$").finish()
      #expect(status == 128 + SIGTERM && end == .signaled(SIGTERM))
    }
  }

  @Test("get signals that the helper gets")
  func forwarded() async throws {
    try await onThread {
      let isolated = try Isolated("sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 1 & wait $!; done")
      try isolated.command.start()
      #expect(isolated.line() == "ready")
      kill(-isolated.pid, SIGTERM)
      #expect(isolated.wait() == 5)
      #expect(try isolated.command.end() == .exited(status: 5))
    }
  }

  @Test(
    "that cannot be started differ from those that exit with the same status",
    arguments: [
      ("no-such-program", 127, "No such file or directory"), ("/", 126, "Permission denied"),
    ])
  func notStarted(program: String, status: Int32, words: String) async throws {
    try await onThread {
      let isolated = try Isolated(program)
      try isolated.command.start()
      #expect(isolated.wait() == status)
      let error = try #require(throws: NotStarted.self) { try isolated.command.end() }
      #expect(error.status == status && error.message.contains("\(program): \(words)"), "\(error)")
      let (same, _, end) = try Isolated("sh", "-c", "exit \(status)").finish()
      #expect(same == status && end == .exited(status: status))
    }
  }

  @Test("start in the working directory of this process")
  func folder() async throws {
    try await onThread {
      let (_, output, _) = try Isolated("pwd").finish()
      #expect(output == Array("\(FileManager.default.currentDirectoryPath)\n".utf8))
    }
  }

  @Test("get exactly the given variables and arguments, with any bytes")
  func bytes() async throws {
    try await onThread {
      let variables: [[UInt8]] = [
        Array("PATH=\(Isolated.path)".utf8), Array("LINES=one\ntwo".utf8), Array("BYTES=".utf8) + [0xFF, 0xFE],
        Array("EMPTY=".utf8), Array("LONG=".utf8) + [UInt8](repeating: 0x61, count: 131_066),
      ]
      let listed = try Isolated(["env", "-0"].map { Array($0.utf8) }, variables: variables).finish()
      #expect(listed.status == 0)
      #expect(listed.output == Array(variables.flatMap { $0 + [0] }))
      let arguments: [[UInt8]] = [[], Array("one\ntwo".utf8), [0xFF, 0x20, 0xFE], Array("é".utf8)]
      let printed = try Isolated(
        ["sh", "-c", #"printf '%s\0' "$@""#, "sh"].map { Array($0.utf8) } + arguments
      ).finish()
      #expect(printed.output == Array(arguments.flatMap { $0 + [0] }))
    }
  }

  @Test("see files of the host in place of others")
  func binds() async throws {
    try await onThread {
      let folder = try Folder()
      try folder.write("inside\n", to: "inside")
      try folder.write("outside\n", to: "outside")
      let bind = IsolatedCommand.Bind(source: folder.file("inside"), target: folder.file("outside"))
      let (_, output, _) = try Isolated("cat", folder.file("outside"), binds: [bind]).finish()
      #expect(output == Array("inside\n".utf8))
    }
  }

  @Test("inherit other descriptors, but not the helper's connection")
  func descriptors() async throws {
    try await onThread {
      let isolated = try Isolated("ls", "/proc/self/fd")
      let connection = String(decoding: isolated.command.spawn.arguments[2], as: UTF8.self)
      let (status, output, _) = try isolated.finish()
      let numbers = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
      #expect(status == 0 && numbers.contains("1") && !numbers.contains(connection), "\(numbers), \(connection)")
    }
  }

  @Test("provide sockets of their network")
  func sockets() async throws {
    try await onThread {
      let isolated = try Isolated("sleep", "1000")
      try isolated.command.start()
      for kind in IsolatedSocketKind.allCases {
        let descriptor = try isolated.command.socket(kind)
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
        // An address that this machine has only inside.
        let host = kind.rawValue.hasSuffix("6") ? "fd64:696f::2" : "198.19.255.2"
        let address = try #require(InternetAddress(host, port: 80))
        #expect(address.withPointer { bind(descriptor, $0, $1) } == 0, "\(kind): \(errno)")
        var type: Int32 = 0
        var size = socklen_t(4)
        getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size)
        #expect(UInt32(type) == SOCK_STREAM.rawValue)
      }
      kill(isolated.pid, SIGTERM)
      #expect(isolated.wait() == 128 + SIGTERM)
      let error = try #require(throws: CodedError.self) { try isolated.command.socket(.tcp4) }
      #expect(error.message.contains("has ended"), "\(error)")
      #expect(try isolated.command.end() == .signaled(SIGTERM))
    }
  }

  @Test("deliver connections to any address with their destination")
  func destination() async throws {
    try await onThread {
      let program = "import socket; socket.create_connection(('192.0.2.7', 81), 60).send(b'x')"
      let isolated = try Isolated((Python.words + [program]).map { Array($0.utf8) })
      try isolated.command.start()
      let accepted = accept(try #require(isolated.sockets).listener, nil, nil)
      defer { close(accepted) }
      var address = sockaddr_in6()
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(accepted, $0, &size) }
      }
      #expect(result == 0 && UInt16(bigEndian: address.sin6_port) == 81)
      #expect(withUnsafeBytes(of: address.sin6_addr) { Array($0.suffix(4)) } == [192, 0, 2, 7])
      #expect(isolated.wait() == 0)
    }
  }

  @Test("end with their helper, and leave no process")
  func killed() async throws {
    try await onThread {
      let isolated = try Isolated("sh", "-c", "setsid sleep 1000 & sleep 1000 & echo ready; wait")
      try isolated.command.start()
      #expect(isolated.line() == "ready")
      let pids = isolated.descendants
      // Process 1 inside, the shell, and what it has started.
      #expect(pids.count >= 3)
      let ends = pids.map(ProcessEnd.init)
      kill(isolated.pid, SIGKILL)
      #expect(isolated.wait() == 128 + SIGKILL)
      #expect(try isolated.command.end() == .killed)
      for (pid, end) in zip(pids, ends) { #expect(end.wait(for: .seconds(60)), "process \(pid)") }
      // Standard output is closed by all of them.
      #expect(isolated.read().isEmpty)
    }
  }

  @Test("end when the connection to the helper is closed, which leaves no descriptor open")
  func closed() async throws {
    try await onThread {
      var isolated: Isolated? = try Isolated("sleep", "1000")
      try isolated?.command.start()
      let network = try #require(isolated?.sockets)
      let inodes = Set(([network.listener] + network.nameServers).map(Self.inode))
      #expect(inodes.isSubset(of: Self.openInodes))
      let pids = try #require(isolated?.descendants)
      let ends = pids.map(ProcessEnd.init)
      isolated?.closeNetwork()
      isolated = nil
      for (pid, end) in zip(pids, ends) { #expect(end.wait(for: .seconds(60)), "process \(pid)") }
      #expect(inodes.isDisjoint(with: Self.openInodes))
    }
  }

  @Test("a step that fails is an error with the advice")
  func failedStep() async throws {
    try await onThread {
      let folder = try Folder()
      let helper = try folder.limitedHelper("mnt")
      let error = try #require(throws: CodedError.self) { try Isolated([Array("true".utf8)], helper: helper) }
      #expect(error.kind == .noUpstream)
      #expect(
        error.message == "cannot isolate the command: mount namespace: unshare(CLONE_NEWNS): No space left on device; "
          + "set sysctl user.max_mnt_namespaces=10000")
    }
  }

  @Test("a file that cannot be mounted is an error")
  func failedBind() async throws {
    try await onThread {
      let bind = IsolatedCommand.Bind(source: "/no/such/file", target: "/etc/hosts")
      let error = try #require(throws: CodedError.self) { try Isolated("true", binds: [bind]) }
      #expect(error.message.contains("bound files: mount /no/such/file over /etc/hosts"), "\(error)")
    }
  }

  @Test("a helper that exits, or answers something else, is an error")
  func wrongHelper() async throws {
    try await onThread {
      let folder = try Folder()
      let other = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[2])); s.send(b'hello'); s.recv(9)"
      for (name, script, words) in [
        ("silent", "exit 3", "exited unexpectedly"),
        ("other", "exec \(Python.words.joined(separator: " ")) \"\(other)\" \"$@\"", "unexpected packet"),
      ] {
        try folder.writeScript("#!/bin/sh\n\(script)\n", to: name)
        let helper = try IsolationHelper(variables: [IsolationHelper.variable: folder.file(name)])
        let error = try #require(throws: CodedError.self) { try Isolated([Array("true".utf8)], helper: helper) }
        #expect(error.message.contains(words), "\(error)")
      }
    }
  }

  private static func inode(_ descriptor: Int32) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
  }

  /// The sockets that this process has open. Numbers of descriptors are reused by other tests, inodes are not.
  private static var openInodes: Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return Set(names.compactMap { Int32($0) }.map(inode))
  }
}
