import CEpoll
import EventLoops
import Glibc

/// Answers the questions that arrive on UDP sockets, each from the address that was asked.
///
/// Used by its loop's thread only.
final class NameServerSource: EventSource {
  private struct Unsent {
    let message: [UInt8]
    var peer: sockaddr_storage
    let peerLength: socklen_t
    var local: diorama_local_address
  }

  private let server: NameServer
  private let sockets: [Int32]
  private let notice: (InterceptionEvent) -> Void
  private var place: EventPlace?
  private var ready: Set<Int32> = []
  /// Answers for which a socket had no room, by descriptor.
  private var unsent: [Int32: [Unsent]] = [:]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 8)

  /// - Parameters:
  ///   - sockets: bound UDP sockets with IP_PKTINFO or IPV6_RECVPKTINFO, which this closes when the loop ends.
  ///   - server: answers the messages.
  ///   - notice: reports events.
  init(_ sockets: [Int32], _ server: NameServer, notice: @escaping (InterceptionEvent) -> Void) {
    self.sockets = sockets
    self.server = server
    self.notice = notice
  }

  deinit { buffer.deallocate() }

  /// Begins to answer; called on the loop's thread, or before the loop starts.
  func start(on loop: EventLoop) {
    let place = loop.add(self)
    self.place = place
    for socket in sockets { loop.watch(socket, for: .reading, at: place) }
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) { ready.insert(descriptor) }

  func turn(now: UInt64) -> UInt64? {
    for socket in ready {
      sendLate(on: socket)
      // Questions wait in the socket while answers wait.
      if unsent[socket] == nil { answer(on: socket) }
    }
    ready.removeAll(keepingCapacity: true)
    return nil
  }

  func loopEnds() {
    for socket in sockets { close(socket) }
  }

  private func answer(on socket: Int32) {
    // Bounded, so that the loop's other sources get their turn; what is left is reported again.
    for _ in 0..<256 {
      var peer = sockaddr_storage()
      var peerLength: socklen_t = 0
      var local = diorama_local_address()
      let count = diorama_receive_datagram(socket, buffer.baseAddress, buffer.count, &peer, &peerLength, &local)
      guard count >= 0 else { return }
      let message: [UInt8]
      switch server.answer(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
      case .none: continue
      case .message(let answer): message = answer
      case .full(let answer, let name):
        message = answer
        if server.table.reportsFull() { notice(.nameTableFull(name: name)) }
      }
      var unsent = Unsent(message: message, peer: peer, peerLength: peerLength, local: local)
      guard send(&unsent, on: socket) else {
        self.unsent[socket] = [unsent]
        if let place { place.loop.watch(socket, for: [.reading, .writing, .changes], at: place) }
        return
      }
    }
  }

  private func sendLate(on socket: Int32) {
    guard var waiting = unsent[socket] else { return }
    while !waiting.isEmpty, send(&waiting[0], on: socket) { waiting.removeFirst() }
    unsent[socket] = waiting.isEmpty ? nil : waiting
    if waiting.isEmpty, let place { place.loop.watch(socket, for: .reading, at: place) }
  }

  /// - Returns: false if the socket has no room.
  private func send(_ unsent: inout Unsent, on socket: Int32) -> Bool {
    let count = diorama_send_datagram(
      socket, unsent.message, unsent.message.count, &unsent.peer, unsent.peerLength, &unsent.local)
    guard count < 0, errno != EAGAIN, errno != ENOBUFS else { return count >= 0 }
    notice(
      .failed(
        "cannot answer a question for an address: \(String(cString: strerror(errno))); the program may ask again"))
    return true
  }
}
