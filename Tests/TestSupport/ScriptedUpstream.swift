import Basics
import Foundation
package import HTTPMessages

/// An upstream on a free port of 127.0.0.1 that a test controls byte by byte, with a thread for each connection.
package final class ScriptedUpstream: Sendable {
  package typealias Script = @Sendable (Connection) throws -> Void

  private struct State {
    var connections: [Connection] = []
    var isStopped = false
  }

  package let origin: Origin
  private let listener: Int32
  private let state = Guarded(State())
  private let threads = DispatchGroup()

  package init(_ script: @escaping Script) throws {
    let (descriptor, port) = try Self.listen(backlog: 1024)
    listener = descriptor
    origin = Origin(scheme: "http", host: "127.0.0.1", port: port)
    runThread {
      while let connection = self.accept() {
        self.runThread {
          try? script(connection)
          connection.finish()
        }
      }
    }
  }

  /// The number of connections so far.
  package var connectionCount: Int { state.withLock { $0.connections.count } }

  /// Ends all connections and threads.
  package func stop() {
    let open = state.withLock { state in
      state.isStopped = true
      return state.connections
    }
    shutdown(listener, Int32(SHUT_RDWR))
    open.forEach { $0.interrupt() }
    threads.wait()
    close(listener)
  }

  /// Creates a socket that holds a free port.
  ///
  /// - Parameter backlog: the maximum number of waiting connections; nil to refuse connections.
  /// - Returns: the socket, to be closed by the caller, and its port.
  /// - Throws: ``Failure`` if no socket can be created.
  package static func listen(backlog: Int32?) throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        guard bind(descriptor, address, size) == 0 else { return -1 }
        if let backlog, Glibc.listen(descriptor, backlog) != 0 { return -1 }
        return getsockname(descriptor, address, &size)
      }
    }
    guard code == 0 else { throw Failure(what: "no free port: \(String(cString: strerror(errno)))") }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  private func accept() -> Connection? {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return nil }
    // A child that another test starts must not keep the connection open.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return state.withLock { state in
      let connection = Connection(descriptor, number: state.connections.count)
      state.connections.append(connection)
      if state.isStopped { connection.interrupt() }
      return connection
    }
  }

  private func runThread(_ body: @escaping @Sendable () -> Void) {
    threads.enter()
    Thread.detachNewThread {
      body()
      self.threads.leave()
    }
  }
}

package struct Failure: Error, CustomStringConvertible {
  package let what: String
  package var description: String { what }

  package init(what: String) {
    self.what = what
  }
}

/// The upstream's end of a connection, with blocking calls for one thread.
package final class Connection: Sendable {
  /// The connection's index; 0 for the first.
  package let number: Int
  private struct State {
    var buffer: [UInt8] = []
    /// The number of bytes already read.
    var start = 0
    var isClosed = false
  }

  private let descriptor: Int32
  private let state = Guarded(State())

  package init(_ descriptor: Int32, number: Int) {
    self.descriptor = descriptor
    self.number = number
  }

  /// The next request head as received, including the empty line; nil at the end of the connection.
  package func readHead() throws -> String? {
    var head: [UInt8] = []
    while !head.ends(with: "\r\n\r\n") {
      guard let byte = try readSome(upTo: 1).first else {
        guard head.isEmpty else { throw Failure(what: "the connection ended in a head") }
        return nil
      }
      head.append(byte)
    }
    return String(decoding: head, as: UTF8.self)
  }

  package func readExactly(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let some = try readSome(upTo: count - bytes.count)
      guard !some.isEmpty else { throw Failure(what: "the connection ended after \(bytes.count) of \(count) bytes") }
      bytes += some
    }
    return bytes
  }

  /// A chunked body, without its trailers.
  package func readChunked(_ take: ([UInt8]) -> Void) throws {
    while true {
      let size = try Int(readLine(), radix: 16) ?? -1
      guard size >= 0 else { throw Failure(what: "no chunk size") }
      take(try readExactly(size))
      guard try readLine().isEmpty else { throw Failure(what: "no line end after a chunk") }
      if size == 0 { return }
    }
  }

  /// Reads until the client closes or resets the connection.
  ///
  /// - Returns: the number of bytes read.
  package func readToEnd() -> Int {
    var count = 0
    while let some = try? readSome(upTo: 65_536), !some.isEmpty { count += some.count }
    return count
  }

  /// Reads at least one byte and at most `limit`; nothing at the end of the connection.
  package func readSome(upTo limit: Int) throws -> [UInt8] {
    let buffered: [UInt8] = state.withLock { state in
      let part = state.buffer[state.start...].prefix(limit)
      state.start += part.count
      return [UInt8](part)
    }
    if !buffered.isEmpty { return buffered }
    var failed: Int32 = 0
    let room = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(recv(descriptor, buffer.baseAddress, buffer.count, 0), -1)
      failed = count < 0 ? errno : 0
      count = max(count, 0)
    }
    guard failed == 0 else { throw Failure(what: String(cString: strerror(failed))) }
    guard room.count > limit else { return room }
    state.withLock { state in
      state.buffer = room
      state.start = limit
    }
    return [UInt8](room[..<limit])
  }

  package func write(_ text: String) throws { try write([UInt8](text.utf8)) }

  package func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      done += try writeSome(bytes[done...])
    }
  }

  /// Writes the bytes that fit, or waits for room; 0 if there was none within ``limitWaits(milliseconds:)``.
  package func writeSome(_ bytes: ArraySlice<UInt8>) throws -> Int {
    let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count < 0, errno == EAGAIN { return 0 }
    guard count >= 0 else { throw Failure(what: String(cString: strerror(errno))) }
    return count
  }

  /// Limits how long a write waits for room; 0 for no limit.
  package func limitWaits(milliseconds: Int) {
    var time = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Closes with a reset.
  package func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    finish()
  }

  /// Ends the sending direction.
  package func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Makes all calls return; called on another thread.
  package func interrupt() {
    state.withLock { if !$0.isClosed { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  /// Closes it.
  package func finish() {
    state.withLock { state in
      if !state.isClosed { close(descriptor) }
      state.isClosed = true
    }
  }

  private func readLine() throws -> String {
    var line: [UInt8] = []
    while !line.ends(with: "\r\n") { line += try readExactly(1) }
    return String(decoding: line.dropLast(2), as: UTF8.self)
  }
}

extension [UInt8] {
  fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

extension Connection {
  /// Responds to every request with the result of `answer` for its head, until the client closes.
  package func serve(_ answer: (String) throws -> String) throws {
    while let head = try readHead() {
      try write(answer(head))
    }
  }
}

/// A complete 200 response with the text as its body.
package func ok(_ body: String = "") -> String {
  "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
}

extension Connection {
  /// Forwards bytes between the client and a local port until one side ends.
  package func tunnel(toPort port: Int) throws {
    let other = try Connection(connectedTo: port)
    let group = DispatchGroup()
    group.enter()
    Thread.detachNewThread {
      while let some = try? other.readSome(upTo: 65_536), !some.isEmpty, (try? self.write(some)) != nil {}
      self.interrupt()
      group.leave()
    }
    while let some = try? readSome(upTo: 65_536), !some.isEmpty { try other.write(some) }
    other.interrupt()
    group.wait()
    other.finish()
  }

  private convenience init(connectedTo port: Int) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(UInt16(port)).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw Failure(what: "no connection to port \(port)") }
    self.init(descriptor, number: 0)
  }
}
