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

  /// What the first bytes of a connection say about its version.
  enum Finding: Equatable {
    case http1
    case http2
    /// Too few bytes have arrived: their number.
    case undecided(Int)
  }

  /// Looks at the first bytes of a connection, which stay in the socket (MSG_PEEK in recv(2)).
  ///
  /// - Parameter descriptor: a non-blocking stream socket.
  /// - Returns: what they are. At the end of the connection, and after an error, HTTP/1.1: libmicrohttpd closes it.
  static func peek(_ descriptor: Int32) -> Finding {
    withUnsafeTemporaryAllocation(byteCount: beginning.count, alignment: 1) { buffer in
      let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
      guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) ? .undecided(0) : .http1 }
      guard buffer[..<count].elementsEqual(beginning[..<count]) else { return .http1 }
      return count < beginning.count ? .undecided(count) : .http2
    }
  }
}
