/// A request as it stands on the wire: method and target are never normalised.
package struct Request: Sendable {
  /// The method as sent: `GET`, but also any token of an extension.
  package var method: String
  /// The request target as sent, percent-escapes, empty segments and all: `/a%7Eb//c?x=1&x=2`, an absolute URL
  /// when the client takes us for its proxy, `*`, or `host:port` with `CONNECT`.
  package var target: String
  /// The header fields as sent.
  package var headers: Headers
  /// The body, without any transfer coding.
  package var body: Body
  /// On a server, which of its connections it came on: each has another number as long as it is open.
  package var connection: UInt64?
  /// On a server, who sent it over a Unix socket; nil over TCP, where nobody can tell.
  package var peer: Peer?
  /// On a server, how many bytes the head of its answer may take, as ``Headers/responseHeadSize`` counts them.
  package var responseHeadLimit = Int.max

  package init(
    method: String, target: String, headers: Headers = [:], body: Body = .empty, connection: UInt64? = nil,
    peer: Peer? = nil
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.connection = connection
    self.peer = peer
  }
}

/// A response. `Connection`, `Transfer-Encoding` and `Content-Length` are the server's to write: they follow from
/// the body. Only where there is no body by rule (an answer to `HEAD`, a 304) is the given `Content-Length` kept.
package struct Response: Sendable {
  /// 200 to 599; 1xx are not responses of their own here.
  package var status: Int
  /// The reason phrase; may be empty, and is not sent where the server library has its own.
  package var reason: String
  /// The header fields in order.
  package var headers: Headers
  /// The body, without any transfer coding.
  package var body: Body
  /// Fields that follow the body, which has to be a stream of unknown length then; whole once that has ended.
  package var trailers: Trailers?
  /// On a server, what becomes of the connection once it has left HTTP by this answer, which has status 101 then and no
  /// body: called once, on a server thread, and returns at once. Never called where the client has gone before.
  package var upgrade: (@Sendable (Duplex) -> Void)?

  package init(
    status: Int, reason: String = "", headers: Headers = [:], body: Body = .empty, trailers: Trailers? = nil
  ) {
    self.status = status
    self.trailers = trailers
    self.reason = reason
    self.headers = headers
    self.body = body
  }
}

/// The content of a message: bytes at hand, a file, or a stream of bytes whose memory is bounded.
package enum Body: Sendable {
  /// The whole of it.
  case bytes([UInt8])
  /// A stream, and its length in bytes where that is known beforehand (else it is sent chunked).
  case stream(BytePipe, length: Int?)
  /// An open file, all of whose content is there: it is sent with its length, without passing through our memory where
  /// the system can do that.
  case file(FileBody)

  /// No content.
  package static let empty = Body.bytes([])

  /// The length in bytes, where it is known.
  package var length: Int? {
    switch self {
    case .bytes(let bytes): bytes.count
    case .stream(_, let length): length
    case .file(let file): file.length
    }
  }

  /// Reads all of it.
  ///
  /// - Parameter limit: the most bytes to hold.
  /// - Returns: the bytes.
  /// - Throws: ``BodyTooLarge`` when there are more than `limit`; what the stream failed with.
  package func collect(upTo limit: Int) async throws -> [UInt8] {
    switch self {
    case .bytes(let bytes):
      guard bytes.count <= limit else { throw BodyTooLarge(limit: limit) }
      return bytes
    case .stream(let pipe, let length):
      if let length, length > limit { throw BodyTooLarge(limit: limit) }
      var all: [UInt8] = []
      all.reserveCapacity(length ?? 0)
      while let chunk = try await pipe.read() {
        guard all.count + chunk.count <= limit else {
          // A part of it has been read: what remains is of no use to anybody.
          pipe.abandon()
          throw BodyTooLarge(limit: limit)
        }
        all += chunk
      }
      return all
    case .file(let file):
      guard file.length <= limit else { throw BodyTooLarge(limit: limit) }
      var all: [UInt8] = []
      all.reserveCapacity(file.length)
      try file.forEachPiece { all.append(contentsOf: $0) }
      return all
    }
  }
}

/// A body had more bytes than its reader is prepared to hold.
package struct BodyTooLarge: Error, CustomStringConvertible {
  /// The most bytes that were allowed.
  package let limit: Int

  package init(limit: Int) {
    self.limit = limit
  }

  package var description: String { "the body has more than \(limit) bytes" }
}
