package import Basics
package import ChildProcesses
import Foundation

#if os(Linux)
  import Glibc

  /// A command in namespaces of its own, or one whose system calls are supervised, by way of `diorama-isolate`.
  ///
  /// ```swift
  /// let command = try IsolatedCommand(arguments, environment: variables, helper: try IsolationHelper())
  /// let pid = try command.spawn.start()           // the helper
  /// let network = try command.handshake()         // the namespaces exist
  /// try command.start()
  /// let status = …                                // of waitpid(2)
  /// let end = try command.end()
  /// ```
  /// The helper ends the command if this object is deallocated or this process ends. All methods may be called from any
  /// thread; ``socket(_:)`` and ``end()`` take turns.
  package final class IsolatedCommand: Sendable {
    /// A file or folder of the host that the command sees in place of another.
    package struct Bind: Sendable, Equatable {
      /// The absolute path of the file or folder.
      package var source: String
      /// The absolute path at which the command sees it; it must exist.
      package var target: String

      package init(source: String, target: String) {
        self.source = source
        self.target = target
      }
    }

    /// How the connections of the command are intercepted.
    package enum Network: Sendable, Equatable {
      /// It has a network of its own, in namespaces.
      case namespaces
      /// Its system calls are supervised by seccomp, without namespaces. It may reach these ports of this machine.
      case supervised(ports: [UInt16])
    }

    /// What the command's programs get in place of real values. Where the system does not permit it, they have the real
    /// ones, and ``reports`` says so.
    package struct Control: Sendable {
      /// The clock; nil for the real one.
      package var clock: ClockPage?
      /// The absolute path of `libdiorama-clock.so`, for programs that wait until an absolute time; used with a clock.
      package var library: String?
      /// The seed of random values; nil for real ones.
      package var seed: String?

      package init(clock: ClockPage? = nil, library: String? = nil, seed: String? = nil) {
        self.clock = clock
        self.library = library
        self.seed = seed
      }
    }

    /// How the command has ended.
    package enum End: Sendable, Equatable {
      case exited(status: Int32)
      case signaled(Int32)
      /// The helper was killed, and with it the command.
      case killed
    }

    /// How long an answer of the helper may take, in milliseconds. Creating namespaces takes 25 to 60 ms, and longer on
    /// a busy system.
    private static let patience: Int32 = 60_000

    private struct State {
      /// Our end of the socket pair.
      let socket: Int32
      /// The helper's end; negative once the helper has it.
      var theirs: Int32
      /// The last packet; nil while the command can still be running.
      var last: Result<End, HelperFailure>?
      /// What the command's programs do not have, and why, one line each.
      var reports: [String] = []
      /// Why no more answers can be read. A late answer would be mistaken for the next one.
      var defect: CodedError?
    }

    private let arguments: [[UInt8]]
    private let environment: [[UInt8]]
    private let binds: [Bind]
    private let network: Network
    private let control: Control
    private let state: Guarded<State>

    /// The helper, to be started by the caller, who may set the process group, the terminal and the signals.
    package let spawn: Spawn

    /// Prepares a command.
    ///
    /// - Parameters:
    ///   - arguments: the program, looked up inside in the `PATH` of `environment`, and its arguments.
    ///   - environment: all variables of the command, as `NAME=VALUE`.
    ///   - network: how its connections are intercepted.
    ///   - binds: the files that the command sees in place of others, in namespaces only; a later one may be inside an
    ///     earlier one.
    ///   - control: what it gets in place of real values.
    ///   - files: the command's descriptors. Others are inherited unless they are close-on-exec.
    ///   - helper: the helper's executable.
    /// - Throws: ``NotStarted`` if no descriptors are left.
    package init(
      _ arguments: [[UInt8]], environment: [[UInt8]], network: Network = .namespaces, binds: [Bind] = [],
      control: Control = Control(), files: [Spawn.FileAction] = [], helper: IsolationHelper
    ) throws(NotStarted) {
      self.arguments = arguments
      self.environment = environment
      self.binds = binds
      self.network = network
      self.control = control
      let ends = try DescriptorPair.packetSockets()
      // A number that neither `files` nor an inherited descriptor uses in the helper.
      let lowest = files.map(\.target).max().map { $0 + 1 } ?? 3
      let theirs = fcntl(ends.theirs, F_DUPFD_CLOEXEC, lowest)
      let code = errno
      close(ends.theirs)
      guard theirs >= 0 else {
        close(ends.ours)
        throw NotStarted(
          status: 126,
          message: "cannot copy a descriptor: \(String(cString: strerror(code))); raise the limit of open files "
            + "('ulimit -n')")
      }
      state = Guarded(State(socket: ends.ours, theirs: theirs))
      var spawn = Spawn(arguments: [helper.path, "--socket", String(theirs)].map { Array($0.utf8) }, environment: [])
      spawn.files = files + [.pass(theirs, as: theirs)]
      self.spawn = spawn
    }

    deinit {
      state.withLock { state in
        close(state.socket)
        if state.theirs >= 0 { close(state.theirs) }
      }
    }

    /// Has the started helper create the namespaces.
    ///
    /// - Returns: the descriptors of the command's network.
    /// - Throws: ``CodedError`` with the step that failed and what would allow it, or for an invalid argument, variable
    ///   or path.
    package func handshake() throws(CodedError) -> IsolatedNetwork {
      var kind: [HelperRequest] = []
      if case .supervised(let ports) = network { kind = [.supervisedNetwork(ports: ports)] }
      let requests =
        kind + binds.map { HelperRequest.bind(source: $0.source, target: $0.target) }
        + environment.map(HelperRequest.variable)
        + arguments.map(HelperRequest.argument) + (control.seed.map { [.random(seed: $0)] } ?? [])
        + (control.clock != nil ? control.library.map { [.preload($0)] } ?? [] : []) + [.setup]
      let packets = try requests.map { request throws(CodedError) in try request.encoded() }
      let clock = try control.clock.map { page throws(CodedError) in
        (try HelperRequest.clock.encoded(), page.descriptor)
      }
      return try state.withLock { state throws(CodedError) in
        // From now on only the helper has its end, so that its death ends the connection.
        close(state.theirs)
        state.theirs = -1
        if let (packet, page) = clock { try Self.send(packet, with: page, &state) }
        for packet in packets { try Self.send(packet, &state) }
        let files = try Self.answer(.ready, count: 3, &state)
        guard kind.isEmpty else {
          defer { close(files[2]) }
          do throws(CodedError) {
            return IsolatedNetwork(
              listener: files[0], nameServers: [files[1]], connections: try ConnectionTable(files[2]))
          } catch {
            for file in files[..<2] { close(file) }
            throw error
          }
        }
        return IsolatedNetwork(listener: files[0], nameServers: Array(files[1...]))
      }
    }

    /// Starts the command. Whether that worked is known at its end: see ``end()``.
    ///
    /// - Throws: ``CodedError`` if the helper does not accept the request.
    package func start() throws(CodedError) {
      let packet = try HelperRequest.start.encoded()
      try state.withLock { state throws(CodedError) in try Self.send(packet, &state) }
    }

    /// Creates a socket in the command's network, after ``handshake()``.
    ///
    /// - Parameter kind: the protocol.
    /// - Returns: the descriptor: blocking, close-on-exec, and to be closed by the caller.
    /// - Throws: ``CodedError`` if the helper cannot create it, or the command has ended.
    package func socket(_ kind: IsolatedSocketKind) throws(CodedError) -> Int32 {
      let packet = try HelperRequest.socket(kind).encoded()
      return try state.withLock { state throws(CodedError) in
        guard state.last == nil else { throw Self.ended }
        try Self.send(packet, &state)
        return try Self.answer(.socket, count: 1, &state)[0]
      }
    }

    /// Waits for the end of the command. While it waits, ``socket(_:)`` does, too: call it after waitpid(2).
    ///
    /// - Returns: how the command ended.
    /// - Throws: ``NotStarted`` if the command could not be started: with status 127 if the program does not exist, 126
    ///   if it cannot be run, and 69 if another step failed.
    package func end() throws(NotStarted) -> End {
      let last = state.withLock { state -> Result<End, HelperFailure> in
        while state.last == nil { _ = Self.receive(&state, within: -1) }
        return state.last ?? .success(.killed)
      }
      switch last {
      case .success(let end): return end
      case .failure(let failure):
        let error = failure.codedError
        throw NotStarted(status: failure.shellStatus ?? error.kind.rawValue, message: error.message)
      }
    }

    /// What the command's programs do not have although it was asked for, and why, one line each, without duplicates.
    package var reports: [String] { state.withLock { $0.reports } }

    // MARK: Packets

    private static let ended = CodedError(
      .noUpstream, "the isolated command has ended; no socket can be created in its network")

    /// Sends a packet. If the helper has ended, its last packet says why.
    private static func send(
      _ packet: [UInt8], with descriptor: Int32? = nil, _ state: inout State
    ) throws(CodedError) {
      var ready = pollfd(fd: state.socket, events: Int16(POLLOUT), revents: 0)
      while true {
        if poll(&ready, 1, patience) == 0 { throw fail("does not read its requests", &state) }
        if PacketSocket.send(packet, with: descriptor, to: state.socket) { return }
        switch errno {
        case EINTR, EAGAIN: continue
        case EPIPE, ECONNRESET:
          while state.last == nil { _ = receive(&state, within: -1) }
          throw reason(state)
        default: throw fail("cannot be reached: \(String(cString: strerror(errno)))", &state)
        }
      }
    }

    /// Receives an answer with descriptors.
    private static func answer(
      _ wanted: HelperReply, count: Int, _ state: inout State
    ) throws(CodedError) -> [Int32] {
      if let defect = state.defect { throw defect }
      var next = receive(&state, within: patience)
      while case .report = next?.reply { next = receive(&state, within: patience) }
      while case .unavailable = next?.reply { next = receive(&state, within: patience) }
      guard let received = next else {
        guard state.last == nil else { throw reason(state) }
        throw fail("did not answer within \(patience / 1000) s", &state)
      }
      if received.reply == wanted, received.files.count == count { return received.files }
      for file in received.files { close(file) }
      // recvmsg(2): descriptors beyond the limit are dropped.
      if received.reply == wanted {
        throw CodedError(.noUpstream, "no descriptor is left for the command's network; raise the limit ('ulimit -n')")
      }
      if case .failed(let failure) = received.reply { throw failure.codedError }
      throw fail("sent '\(received.reply)' in place of '\(wanted)'", &state)
    }

    /// The error of a request that came after the last packet, or met it.
    private static func reason(_ state: State) -> CodedError {
      switch state.last {
      case .failure(let failure): failure.codedError
      case .success(.killed):
        CodedError(.noUpstream, "diorama-isolate exited unexpectedly; look for its message, or for 'oom' in dmesg")
      default: ended
      }
    }

    private static func note(_ line: String, _ state: inout State) {
      guard state.reports.count < 100, !state.reports.contains(line) else { return }
      state.reports.append(line)
    }

    private static func fail(_ problem: String, _ state: inout State) -> CodedError {
      let error = CodedError(
        .noUpstream, "diorama-isolate \(problem); check what it is doing, and install the version of diorama")
      state.defect = error
      return error
    }

    /// Receives a packet, and notes the last one.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - milliseconds: the maximum time to wait; negative for no limit.
    /// - Returns: nil for the last packet, at the end of the connection, and after the time.
    private static func receive(
      _ state: inout State, within milliseconds: Int32
    ) -> (reply: HelperReply, files: [Int32])? {
      guard state.last == nil else { return nil }
      var ready = pollfd(fd: state.socket, events: Int16(POLLIN), revents: 0)
      var count: Int32
      repeat { count = poll(&ready, 1, milliseconds) } while count < 0 && errno == EINTR
      guard count != 0 else { return nil }
      guard let (bytes, files) = PacketSocket.read(state.socket) else {
        state.last = .success(.killed)
        return nil
      }
      do {
        let reply = try HelperReply(bytes)
        switch reply {
        case .exited(let status): state.last = .success(.exited(status: status))
        case .signaled(let signal): state.last = .success(.signaled(signal))
        case .report(let line):
          note(line, &state)
          return (reply, files)
        case .unavailable(let what, let failure):
          let kept = what == "clock" ? "the command has the real clock" : "the command has real random values"
          note(failure.text(kept), &state)
          return (reply, files)
        // After other failures the helper ends.
        case .failed(let failure) where failure.step != "socket": state.last = .failure(failure)
        default: return (reply, files)
        }
      } catch {
        state.last = .failure(
          HelperFailure(step: "request", call: "", error: 0, message: error.message, advice: ""))
      }
      for file in files { close(file) }
      return nil
    }
  }

  /// The descriptors by which Diorama answers for the network of an isolated command. PROTOCOL.md describes their
  /// options.
  ///
  /// The caller closes them. The network ends when they, all accepted connections, and those of
  /// ``IsolatedCommand/socket(_:)`` are closed.
  package struct IsolatedNetwork: Sendable {
    /// The TCP listener for connections to any address.
    package var listener: Int32
    /// UDP port 53 on all IPv4 addresses, and on all IPv6 addresses; of a supervised command, one socket for both.
    package var nameServers: [Int32]
    /// The destinations of a supervised command's connections; nil in namespaces, where they are the local addresses of
    /// accepted connections.
    package var connections: ConnectionTable?

    /// Closes the descriptors.
    package func close() {
      for descriptor in [listener] + nameServers { Glibc.close(descriptor) }
    }
  }

  extension Spawn.FileAction {
    /// The descriptor in the child.
    fileprivate var target: Int32 {
      switch self {
      case .pass(_, let theirs), .open(_, _, let theirs), .close(let theirs): theirs
      }
    }
  }

  /// Packets with descriptors (unix(7), SCM_RIGHTS).
  private enum PacketSocket {
    /// PROTOCOL.md limits packets from the helper to 4 KiB.
    private static let size = 8192
    private static let mostFiles = 8
    /// cmsg(3): a header, then the data, both aligned for a size_t.
    private static let headerSize = (MemoryLayout<cmsghdr>.size + 7) & ~7

    /// Sends a packet without waiting.
    ///
    /// - Parameters:
    ///   - bytes: the packet.
    ///   - descriptor: a descriptor to pass with it; nil for none.
    ///   - socket: the socket.
    /// - Returns: false if it fails; errno says why.
    static func send(_ bytes: [UInt8], with descriptor: Int32?, to socket: Int32) -> Bool {
      var bytes = bytes
      var rights = [Int](repeating: 0, count: headerSize / 8 + 1)
      return bytes.withUnsafeMutableBytes { bytes in
        rights.withUnsafeMutableBytes { rights in
          var content = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &content) { content in
            var message = msghdr()
            message.msg_iov = content
            message.msg_iovlen = 1
            if let descriptor {
              var header = cmsghdr()
              header.cmsg_len = headerSize + 4
              header.cmsg_level = SOL_SOCKET
              header.cmsg_type = Int32(SCM_RIGHTS)
              rights.storeBytes(of: header, as: cmsghdr.self)
              rights.storeBytes(of: descriptor, toByteOffset: headerSize, as: Int32.self)
              message.msg_control = rights.baseAddress
              message.msg_controllen = rights.count
            }
            return sendmsg(socket, &message, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) >= 0
          }
        }
      }
    }

    /// Receives a packet; its descriptors are close-on-exec.
    ///
    /// - Returns: nil at the end of the connection.
    static func read(_ socket: Int32) -> (bytes: [UInt8], files: [Int32])? {
      var bytes = [UInt8](repeating: 0, count: size)
      // Words have the alignment of a header.
      var rights = [Int](repeating: 0, count: headerSize / 8 + mostFiles)
      var message = msghdr()
      let count = bytes.withUnsafeMutableBytes { bytes in
        rights.withUnsafeMutableBytes { rights in
          var content = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &content) { content in
            message.msg_iov = content
            message.msg_iovlen = 1
            message.msg_control = rights.baseAddress
            message.msg_controllen = rights.count
            var count: Int
            // unix(7): ECONNRESET comes once if the other side has ended without reading all; its packets follow.
            repeat {
              count = recvmsg(socket, &message, Int32(MSG_CMSG_CLOEXEC))
            } while count < 0 && (errno == EINTR || errno == ECONNRESET)
            return count
          }
        }
      }
      guard count > 0 else { return nil }
      var files: [Int32] = []
      if message.msg_controllen >= headerSize {
        rights.withUnsafeBytes { rights in
          let header = rights.load(as: cmsghdr.self)
          guard header.cmsg_level == SOL_SOCKET, header.cmsg_type == Int32(SCM_RIGHTS) else { return }
          for offset in stride(from: headerSize, to: Int(header.cmsg_len), by: 4) {
            files.append(rights.load(fromByteOffset: offset, as: Int32.self))
          }
        }
      }
      return (Array(bytes.prefix(count)), files)
    }
  }
#endif
