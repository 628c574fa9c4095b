#if canImport(Darwin)
  import Darwin
#else
  // For the flags of recv(2), which a release build does not find otherwise.
  import CMicroHTTPD
  import Glibc
#endif

/// Recognises the first bytes that a client of HTTP/2 sends (RFC 9113, 3.4): the request line `PRI * HTTP/2.0`.
enum HTTP2Preface {
  private static let beginning = Array("PRI * HTTP/2.0\r\n".utf8)

  /// Looks at the first bytes of a connection, which stay in the socket (MSG_PEEK in recv(2)).
  ///
  /// - Parameter descriptor: a non-blocking stream socket.
  /// - Returns: whether they are HTTP/2's; nil if they have not arrived, or too few of them.
  static func peek(_ descriptor: Int32) -> Bool? {
    withUnsafeTemporaryAllocation(byteCount: beginning.count, alignment: 1) { buffer in
      let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
      // At the end of the connection, and after an error, libmicrohttpd closes it.
      guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) ? nil : false }
      let isBeginning = buffer[..<count].elementsEqual(beginning[..<count])
      return isBeginning && count < beginning.count ? nil : isBeginning
    }
  }
}
