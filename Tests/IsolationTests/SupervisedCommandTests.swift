import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Isolation

@Suite("Commands supervised by seccomp", .needsSupervision, .timeLimit(.minutes(5)))
struct SupervisedCommandTests {
  @Test(
    "connect to us in place of any address, and see the one that they asked for",
    arguments: [
      ("192.0.2.1", "192.0.2.1 80"), ("2001:db8::1", "2001:db8::1 80"), ("::ffff:192.0.2.1", "192.0.2.1 80"),
      ("203.0.113.7", "203.0.113.7 80"),
    ])
  func connected(address: String, destination: String) async throws {
    try await onThread {
      let supervised = try Supervised(
        """
        import socket
        for kind in ("blocking", "nonblocking", "bound"):
            client = socket.socket(socket.AF_INET6 if ":" in "\(address)" else socket.AF_INET)
            if kind == "nonblocking": client.settimeout(20)
            if kind == "bound": client.bind(("::" if ":" in "\(address)" else "0.0.0.0", 0))
            client.connect(("\(address)", 80))
            print(client.recv(100).decode(), client.getpeername()[0], client.getblocking())
        """)
      try supervised.isolated.command.start()
      for _ in 0..<3 { try supervised.answer() }
      let text = String(decoding: supervised.isolated.read(), as: UTF8.self)
      #expect(text == ["True", "True", "True"].map { "\(destination) \(address) \($0)\n" }.joined())
      #expect(supervised.isolated.wait() == 0)
    }
  }

  @Test("keep the destinations of simultaneous connections apart")
  func many() async throws {
    try await onThread {
      let supervised = try Supervised(
        """
        import socket, threading
        wrong = []
        def ask(number):
            for port in range(1, 26):
                with socket.create_connection(("192.0.2." + str(number), port), 60) as client:
                    text = client.recv(100).decode()
                    if text != "192.0.2." + str(number) + " " + str(port): wrong.append(text)
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 9)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(wrong)
        """)
      try supervised.isolated.command.start()
      for _ in 0..<200 { try supervised.answer() }
      #expect(supervised.isolated.read() == Array("[]\n".utf8))
    }
  }

  @Test("cannot send anything elsewhere, except to the name server")
  func refused() async throws {
    try await onThread {
      let supervised = try Supervised(
        """
        import ctypes, socket
        def attempt(name, call):
            try: call(); print(name, "sent")
            except OSError as error: print(name, error.errno)
        plain = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        attempt("sendto", lambda: plain().sendto(b"x", ("192.0.2.1", 9)))
        attempt("sendmsg", lambda: plain().sendmsg([b"x"], [], 0, ("192.0.2.1", 9)))
        attempt("connect", lambda: plain().connect(("192.0.2.1", 9)))
        attempt("multicast", lambda: plain().sendto(b"x", ("224.0.0.251", 5353)))
        attempt("fast open", lambda: socket.socket().sendto(b"x", socket.MSG_FASTOPEN, ("192.0.2.1", 80)))
        attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 17))
        attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        attempt("virtual machine", lambda: socket.socket(40, socket.SOCK_STREAM))
        def ring():
            if ctypes.CDLL(None, use_errno=True).syscall(425, 4, ctypes.create_string_buffer(120)) < 0:
                raise OSError(ctypes.get_errno(), "")
        attempt("io_uring", ring)
        attempt("unbind", lambda: plain().setsockopt(socket.SOL_SOCKET, 25, b""))
        attempt("loopback", lambda: socket.create_connection(("127.0.0.1", \(Supervised.closedPort))))
        """)
      let (status, output, _) = try supervised.isolated.finish()
      #expect(status == 0)
      let expected = """
        sendto \(ENETUNREACH)
        sendmsg \(ENETUNREACH)
        connect \(ENETUNREACH)
        multicast \(ENETUNREACH)
        fast open \(EOPNOTSUPP)
        raw \(EPERM)
        packet \(EPERM)
        virtual machine \(EAFNOSUPPORT)
        io_uring \(ENOSYS)
        unbind \(EPERM)
        loopback \(ECONNREFUSED)

        """
      #expect(String(decoding: output, as: UTF8.self) == expected)
    }
  }

  @Test("ask our name server, whatever its address is, and get answers from the one they have asked")
  func names() async throws {
    try await onThread {
      let supervised = try Supervised(
        """
        import socket
        for connects in (False, True):
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            client.settimeout(20)
            if connects: client.connect(("192.0.2.53", 53))
            client.send(b"question") if connects else client.sendto(b"question", ("192.0.2.53", 53))
            print(*client.recvfrom(100))
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.settimeout(20)
        client.sendmsg([b"ques", b"tion"], [], 0, ("192.0.2.54", 53))
        answer = client.recvmsg(100)
        print(answer[0], answer[3])
        """)
      try supervised.isolated.command.start()
      for _ in 0..<3 { try supervised.answerQuestion() }
      let text = String(decoding: supervised.isolated.read(), as: UTF8.self)
      let first = "b'question!' ('192.0.2.53', 53)\n"
      #expect(text == first + first + "b'question!' ('192.0.2.54', 53)\n")
    }
  }

  @Test("reach their own servers, and the ports that are let in, at loopback addresses")
  func loopback() async throws {
    try await onThread {
      let outside = try Listening()
      let program = """
        import socket, sys
        server = socket.create_server(("127.0.0.1", 0))
        with socket.create_connection(server.getsockname()) as client: print("own")
        try:
            with socket.create_connection(("127.0.0.1", \(outside.port))): print("let in")
        except OSError as error: print(error.errno)
        first, second = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        first.bind(("127.0.0.1", 0))
        second.sendto(b"datagram", first.getsockname())
        print(first.recv(100).decode())
        """
      let allowed = try Supervised(program, ports: [outside.port]).isolated.finish()
      #expect(String(decoding: allowed.output, as: UTF8.self) == "own\nlet in\ndatagram\n")
      let refused = try Supervised(program).isolated.finish()
      #expect(String(decoding: refused.output, as: UTF8.self) == "own\n\(ECONNREFUSED)\ndatagram\n")
    }
  }

  @Test("are accepted once: connections of others have no destination")
  func strangers() async throws {
    try await onThread {
      let supervised = try Supervised("import time; time.sleep(1000)")
      let network = try #require(supervised.isolated.sockets)
      let outcome = try Python.run(
        "import socket, sys; socket.create_connection(('127.64.0.1', int(sys.argv[1])))", String(supervised.port))
      #expect(outcome.status == 0)
      let stranger = accept(network.listener, nil, nil)
      defer { close(stranger) }
      #expect(stranger >= 0 && network.connections?.destination(of: stranger) == nil)
    }
  }

  @Test("end with all their processes, also those of other sessions, whichever process of the helper is killed")
  func ended() async throws {
    try await onThread {
      for killsSupervisor in [true, false] {
        let isolated = try Isolated(
          ["sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000"].map { Array($0.utf8) },
          network: .supervised(ports: []))
        try isolated.command.start()
        #expect(isolated.line() == "ready")
        let all = isolated.descendants
        #expect(all.count >= 3)
        kill(killsSupervisor ? isolated.pid : all[0], SIGKILL)
        isolated.wait()
        // The end of standard output: no process has it any more.
        #expect(isolated.read().isEmpty)
      }
    }
  }

  @Test("are not mixed up with connections of others to the same number")
  func mixedUp() async throws {
    try await onThread {
      // The second connect(2) of the command fails with EISCONN, so nothing may be accepted as that connection.
      let supervised = try Supervised(
        """
        import socket, time
        client = socket.create_connection(("192.0.2.1", 80))
        print(client.connect_ex(("192.0.2.1", 80)), flush=True)
        time.sleep(1000)
        """)
      try supervised.isolated.command.start()
      let network = try #require(supervised.isolated.sockets)
      let own = accept(network.listener, nil, nil)
      defer { close(own) }
      #expect(supervised.isolated.line() == "\(EISCONN)")
      let outcome = try Python.run(
        """
        import socket, sys
        for number in range(1, 6): socket.create_connection(("127.64.0." + str(number), int(sys.argv[1])))
        """, String(supervised.port))
      #expect(outcome.status == 0)
      for _ in 0..<5 {
        let stranger = accept(network.listener, nil, nil)
        defer { close(stranger) }
        #expect(stranger >= 0 && network.connections?.destination(of: stranger) == nil)
      }
      #expect(network.connections?.destination(of: own)?.address == "192.0.2.1")
    }
  }

  @Test("have the clock and random values of their environment", .enabled(if: Machine.hasControls, "no clock here"))
  func controls() async throws {
    try await onThread {
      let page = try ClockPage()
      page.show(.frozen, Date(timeIntervalSince1970: 1_538_989_200))
      let program = ["sh", "-c", "date -u +%Y; \(Python.words[0]) -c 'import secrets; print(secrets.token_hex(8))'"]
      let outputs = try (0..<2).map { _ in
        try Isolated(
          program.map { Array($0.utf8) }, network: .supervised(ports: []), control: .init(clock: page, seed: "seed")
        ).finish().output
      }
      #expect(outputs[0] == outputs[1] && String(decoding: outputs[0], as: UTF8.self).hasPrefix("2018\n"))
    }
  }

  @Test("cannot have files mounted")
  func binds() async throws {
    try await onThread {
      let error = #expect(throws: CodedError.self) {
        _ = try Isolated(
          [Array("true".utf8)], network: .supervised(ports: []),
          binds: [.init(source: "/dev/null", target: "/dev/zero")])
      }
      #expect(error?.message.contains("/dev/zero") == true, "\(String(describing: error))")
    }
  }
}

/// A supervised program in Python.
private struct Supervised {
  /// No program listens on it, as that would need a privilege.
  static let closedPort = 1

  let isolated: Isolated

  init(_ program: String, ports: [UInt16] = []) throws {
    isolated = try Isolated((Python.words + [program]).map { Array($0.utf8) }, network: .supervised(ports: ports))
  }

  /// The port of our listener.
  var port: UInt16 { isolated.sockets.map { Self.port(of: $0.listener) } ?? 0 }

  /// Accepts a connection, sends its destination, and closes it.
  func answer() throws {
    let network = try #require(isolated.sockets)
    let accepted = accept(network.listener, nil, nil)
    try #require(accepted >= 0)
    defer { close(accepted) }
    let destination = try #require(network.connections?.destination(of: accepted))
    #expect(network.connections?.destination(of: accepted) == nil)
    _ = "\(destination.address) \(destination.port)".withCString { send(accepted, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
  }

  /// Sends a question back, with an exclamation mark.
  func answerQuestion() throws {
    let socket = try #require(isolated.sockets?.nameServers.first)
    var bytes = [UInt8](repeating: 0, count: 100)
    var peer = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &peer) { peer in
      peer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
        let count = recvfrom(socket, &bytes, bytes.count, 0, peer, &length)
        #expect(count > 0)
        let answer = bytes.prefix(max(count, 0)) + [UInt8(ascii: "!")]
        _ = answer.withUnsafeBytes { sendto(socket, $0.baseAddress, $0.count, 0, peer, length) }
      }
    }
  }

  static func port(of socket: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// A server outside that accepts connections and does nothing.
private final class Listening: Sendable {
  let descriptor: Int32
  let port: UInt16

  init() throws {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isBound = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    self.descriptor = descriptor
    port = Supervised.port(of: descriptor)
    try #require(isBound == 0 && listen(descriptor, 8) == 0)
  }

  deinit { close(descriptor) }
}
