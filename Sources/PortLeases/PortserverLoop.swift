import Basics
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The portserver's thread: accepts clients and answers each as soon as its request has arrived.
final class PortserverLoop: @unchecked Sendable {
  /// The maximum number of clients whose request has not arrived; one more, and the oldest is dropped.
  static let mostWaiting = 128

  private struct Client {
    let descriptor: Int32
    let deadline: ContinuousClock.Instant
    var bytes: [UInt8] = []
  }

  private let address: PortserverAddress
  private let pool: PortPool
  private let patience: Duration
  private let log: @Sendable (PortserverEvent) -> Void
  private let holds: Bool
  private let tally = Guarded(PortserverCounts())
  /// The socket file to remove at the end.
  private let file: (device: UInt64, inode: UInt64)?
  /// Writing a byte ends the loop.
  private let wake: (read: Int32, write: Int32)

  // Used by the thread only from here.
  private var listener: Int32
  private var clients: [Client] = []
  /// Set while no descriptors are left.
  private var pausedUntil: ContinuousClock.Instant?

  init(
    address: PortserverAddress, pool: PortPool, patience: Duration, log: @escaping @Sendable (PortserverEvent) -> Void
  ) throws(CodedError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw CodedError(.inputOutput, "no descriptors are left; raise the limit ('ulimit -n')")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    do {
      listener = try address.listen()
    } catch {
      for end in ends { close(end) }
      throw error
    }
    wake = (ends[0], ends[1])
    file = address.path.flatMap(Self.identity)
    self.address = address
    self.pool = pool
    self.patience = patience
    self.log = log
    holds = EphemeralPorts.overlap(pool.range)
  }

  deinit {
    for descriptor in [listener, wake.read, wake.write] where descriptor >= 0 { close(descriptor) }
  }

  var counts: PortserverCounts { tally.withLock { $0 } }

  /// Ends the loop; may be called repeatedly, on any thread.
  func end() { _ = write(wake.write, [0], 1) }

  func run() {
    // Leave signals to the program's other threads.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    while waitForSomething() {
      let now = ContinuousClock.now
      if let until = pausedUntil, until <= now { pausedUntil = nil }
      readAll()
      accept(now)
      dropSlow(now)
    }
    for client in clients { close(client.descriptor) }
    // Free the address before reporting the end.
    // Also ends copies that a child holds until it has started.
    _ = shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    listener = -1
    if let file, let path = address.path, let found = Self.identity(path), found == file { unlink(path) }
  }

  /// Returns false if the loop should end.
  private func waitForSomething() -> Bool {
    var polled = [pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0)]
    polled.append(pollfd(fd: pausedUntil == nil ? listener : -1, events: Int16(POLLIN), revents: 0))
    polled += clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    let next = [pausedUntil, clients.first?.deadline].compactMap { $0 }.min()
    let timeout = next.map { max(0, ($0 - .now) / .milliseconds(1)).rounded(.up) } ?? -1
    poll(&polled, nfds_t(polled.count), Int32(timeout))
    return polled[0].revents == 0
  }

  private func accept(_ now: ContinuousClock.Instant) {
    guard pausedUntil == nil else { return }
    // Bounded, since waiting clients have deadlines.
    for _ in 0..<32 {
      let descriptor = Peer.accept(listener)
      guard descriptor >= 0 else {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { pausedUntil = now + .milliseconds(100) }
        return
      }
      guard Peer.isWelcome(Peer.user(of: descriptor)) else {
        refuse(Client(descriptor: descriptor, deadline: now), .foreign, "it belongs to another user")
        continue
      }
      // Most clients have sent their request by now.
      if let client = read(Client(descriptor: descriptor, deadline: now + patience)) { clients.append(client) }
      if clients.count > Self.mostWaiting {
        refuse(clients.removeFirst(), .malformed, "more than \(Self.mostWaiting) clients have not sent a request")
      }
    }
  }

  private func readAll() {
    clients = clients.compactMap(read)
  }

  /// Clients are in the order of their deadlines.
  private func dropSlow(_ now: ContinuousClock.Instant) {
    while let first = clients.first, first.deadline <= now {
      refuse(clients.removeFirst(), .malformed, "it sent no request within \(patience)")
    }
  }

  /// Reads available bytes.
  ///
  /// - Returns: the client if its request is incomplete; nil once it has been answered.
  private func read(_ client: Client) -> Client? {
    var client = client
    var buffer = [UInt8](repeating: 0, count: PortserverRequest.mostRead)
    let count = recv(client.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return client }
    client.bytes += buffer[..<max(0, count)]
    switch PortserverRequest(client.bytes, isOver: count <= 0) {
    case .incomplete: return client
    case .malformed: refuse(client, .malformed, "its request is not a process ID and a newline")
    case .process(let pid): answer(client, pid)
    }
    return nil
  }

  private func answer(_ client: Client, _ pid: Int32) {
    // 1: a client whose parent has ended; it meant that parent.
    guard pid > 1, let owner = PortOwner(pid: pid) else {
      refuse(client, .denied, "no process \(pid) that can own a port")
      return
    }
    let request = PortRequest(owner: owner, holds: holds)
    do {
      let port = try pool.lease(request)[0].port
      guard Peer.send(Array("\(port)\n".utf8), to: client.descriptor) else {
        refuse(client, .malformed, "it disconnected before it got its port")
        try pool.release(port)
        return
      }
      tally.withLock { $0.leased += 1 }
      log(.leased(port: port, pid: pid))
      close(client.descriptor)
      // Finding a free port is most of the work; do it before the next client needs one.
      pool.prepare(for: request)
    } catch {
      refuse(client, .denied, "\(error)")
    }
  }

  /// Refuses a client by closing the connection without sending a byte.
  private func refuse(_ client: Client, _ kind: PortserverCounts.Refusal, _ reason: String) {
    tally.withLock { $0.refused[kind, default: 0] += 1 }
    log(.refused(reason))
    close(client.descriptor)
  }

  private static func identity(_ path: String) -> (device: UInt64, inode: UInt64)? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
  }
}

/// A request of the portserver protocol: the ID of the process that is to own a port, and a newline.
enum PortserverRequest: Equatable {
  /// More bytes may follow.
  case incomplete
  case process(Int32)
  case malformed

  /// The maximum length of a valid request in bytes.
  static let most = 20
  /// How much is read before the connection is closed: a client with unread bytes sees a reset.
  static let mostRead = 100

  /// Parses a request.
  ///
  /// - Parameters:
  ///   - bytes: the bytes received so far.
  ///   - isOver: whether the client has closed its sending side.
  init(_ bytes: [UInt8], isOver: Bool) {
    guard bytes.count <= Self.most else {
      self = .malformed
      return
    }
    guard isOver || bytes.contains(UInt8(ascii: "\n")) else {
      self = .incomplete
      return
    }
    let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
    let number = bytes.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
    self = Int32(String(decoding: Array(number), as: UTF8.self)).map(Self.process) ?? .malformed
  }
}

/// Calls on a client's connection; none of them blocks or raises SIGPIPE.
enum Peer {
  /// Accepts a connection, close-on-exec; negative if there is none.
  static func accept(_ listener: Int32) -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.accept(listener, nil, nil)
    #else
      let descriptor = Glibc.accept(listener, nil, nil)
    #endif
    guard descriptor >= 0 else { return descriptor }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return descriptor
  }

  /// The user of the client process, as the kernel reports it.
  static func user(of descriptor: Int32) -> uid_t? {
    #if canImport(Darwin)
      var user = uid_t()
      var group = gid_t()
      return getpeereid(descriptor, &user, &group) == 0 ? user : nil
    #else
      // struct ucred: process, user, group (unix(7), SO_PEERCRED).
      var credentials: [UInt32] = [0, 0, 0]
      var size = socklen_t(12)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else { return nil }
      return credentials[1]
    #endif
  }

  /// Whether to serve clients of this user: only this process's own user and root.
  static func isWelcome(_ user: uid_t?, own: uid_t = geteuid()) -> Bool { user == own || user == 0 }

  /// Returns whether all bytes were sent.
  static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      Darwin.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT)) == bytes.count
    #else
      Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) == bytes.count
    #endif
  }
}
