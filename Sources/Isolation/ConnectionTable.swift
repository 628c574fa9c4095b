package import Basics

#if os(Linux)
  import ClockSupervision
  import Glibc

  /// The original destinations of the connections of a command whose system calls are supervised.
  package final class ConnectionTable: Sendable {
    private struct Table: @unchecked Sendable {
      let pointer: UnsafeMutablePointer<diorama_connection>
    }

    private let table: Table

    /// Maps a table.
    ///
    /// - Parameter descriptor: the memory file of the helper, which is not kept.
    /// - Throws: ``CodedError`` if there is no memory.
    package init(_ descriptor: Int32) throws(CodedError) {
      var text = [CChar](repeating: 0, count: Int(DIORAMA_CLOCK_ERROR))
      guard let pointer = diorama_connections_map(descriptor, &text) else {
        throw CodedError(.inputOutput, text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
      }
      table = Table(pointer: pointer)
    }

    deinit { munmap(table.pointer, Int(DIORAMA_CONNECTIONS) * MemoryLayout<diorama_connection>.stride) }

    /// Returns the destination of an accepted connection, once.
    ///
    /// - Parameter descriptor: the connection.
    /// - Returns: the address as text, and the port; nil if no supervised program has made the connection.
    package func destination(of descriptor: Int32) -> (address: String, port: UInt16)? {
      var connection = diorama_connection()
      guard diorama_connections_take(table.pointer, descriptor, &connection) else { return nil }
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      inet_ntop(connection.is_v6 != 0 ? AF_INET6 : AF_INET, &connection.address, &text, socklen_t(text.count))
      return (text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }, connection.port)
    }
  }
#endif
