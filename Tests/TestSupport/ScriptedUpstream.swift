import Foundation
package import HTTPMessages

/// An upstream on a free port of 127.0.0.1 that does what a test tells it, byte by byte: a thread for each connection.
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

  /// How many connections have been made so far.
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

  /// A socket that holds a free port.
  ///
  /// - Parameter backlog: how many connections may wait; nil: it does not listen, and every connection is refused.
  /// - Returns: the socket, which the caller closes, and its port.
  /// - Throws: ``Failure`` where there is none.
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
