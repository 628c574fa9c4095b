import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The portserver's thread: takes clients and answers each as soon as its request is there.
final class PortserverLoop: @unchecked Sendable {
  /// Clients whose request has not come yet; one more, and the oldest is dropped.
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
  /// The file that is ours to remove.
  private let file: (device: UInt64, inode: UInt64)?
  /// A byte in it ends the loop.
  private let wake: (read: Int32, write: Int32)

  // Of the thread alone from here.
  private var listener: Int32
  private var clients: [Client] = []
  /// While there are no descriptors left.
  private var pausedUntil: ContinuousClock.Instant?

  init(
    address: PortserverAddress, pool: PortPool, patience: Duration, log: @escaping @Sendable (PortserverEvent) -> Void
  ) throws(PortserverError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw PortserverError("no descriptor is left: raise the limit ('ulimit -n')") }
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

  /// From any thread, any number of times.
  func end() { _ = write(wake.write, [0], 1) }

  func run() {
    // Signals are for the threads of the program.
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
    // The address is free before anybody is told that this has ended.
    close(listener)
    listener = -1
    if let file, let path = address.path, let found = Self.identity(path), found == file { unlink(path) }
  }

  /// Returns false when it is to end.
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
    // A bound, since those who wait have their deadlines.
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
      // Most have sent their request by now.
      if let client = read(Client(descriptor: descriptor, deadline: now + patience)) { clients.append(client) }
      if clients.count > Self.mostWaiting {
        refuse(clients.removeFirst(), .malformed, "more than \(Self.mostWaiting) clients have sent no request yet")
      }
    }
  }

  private func readAll() {
    clients = clients.compactMap(read)
  }

  /// They are in the order of their deadlines.
  private func dropSlow(_ now: ContinuousClock.Instant) {
    while let first = clients.first, first.deadline <= now {
      refuse(clients.removeFirst(), .malformed, "it sent no request in \(patience)")
    }
  }

  /// Reads what is there.
  ///
  /// - Returns: the client, where more has to come; nil once it has been answered.
  private func read(_ client: Client) -> Client? {
    var client = client
    var buffer = [UInt8](repeating: 0, count: PortserverRequest.mostRead)
    let count = recv(client.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return client }
    client.bytes += buffer[..<max(0, count)]
    switch PortserverRequest(client.bytes, isOver: count <= 0) {
    case .incomplete: return client
    case .malformed: refuse(client, .malformed, "what it sent is no process id and a newline")
    case .process(let pid): answer(client, pid)
    }
    return nil
  }

  private func answer(_ client: Client, _ pid: Int32) {
    // 1: a client whose parent is gone meant that parent.
    guard pid > 1, let owner = PortOwner(pid: pid) else {
      refuse(client, .denied, "there is no process \(pid) that could own a port")
      return
    }
    let request = PortRequest(owner: owner, holds: holds)
    do {
      let port = try pool.lease(request)[0].port
      guard Peer.send(Array("\(port)\n".utf8), to: client.descriptor) else {
        refuse(client, .malformed, "it was gone before it got its port")
        try pool.release(port)
        return
      }
      tally.withLock { $0.leased += 1 }
      log(.leased(port: port, pid: pid))
      close(client.descriptor)
      // The sockets that it takes to find a port free are most of the work; the next client need not wait for them.
      pool.prepare(for: request)
    } catch {
      refuse(client, .denied, "\(error)")
    }
  }

  /// A refusal is the end without a byte.
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
