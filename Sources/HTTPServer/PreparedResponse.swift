import CMicroHTTPD
package import HTTPMessages

/// A response that is built once and sent any number of times, by any thread, without another allocation.
package final class PreparedResponse: Sendable {
  /// How the end of the body is told to the client.
  package enum Framing: Sendable {
    /// By `Content-Length`.
    case length
    /// By the chunked transfer coding; HTTP/1.0 clients get a `Content-Length`.
    case chunked
    /// There is no body: an answer to `HEAD`, or a 304. Without a `Content-Length` to give, the connection ends with
    /// the answer.
    case headOnly(contentLength: Int?)
  }

  private let full: Shared
  /// For `HEAD`, where it is not the same: libmicrohttpd 0.9.75 would end a chunked body that it has not begun.
  private let head: Shared?
  let status: UInt32
  var headSize: Int { full.wire.headSize }

  /// - Parameters:
  ///   - status: 200 to 999.
  ///   - headers: sent in order, except the fields that belong to the connection and the framing; these follow from
  ///     `framing`.
  ///   - body: the content; ignored where the status or `framing` allow none.
  ///   - framing: how the end of the body is told.
  ///   - trailers: fields that follow a body in chunks.
  /// - Throws: ``ServerError`` for a status or a header field that cannot be sent.
  package init(
    status: Int, headers: Headers, body: [UInt8], framing: Framing = .length, trailers: Headers = [:]
  ) throws {
    self.status = try Self.checked(status)
    switch framing {
    case _ where status == 204:
      full = try Shared(headers, .bytes([]))
      head = nil
    case .headOnly(let length):
      full = try Shared(headers, .none(contentLength: length))
      head = nil
    case _ where status == 304:
      let length = headers["Content-Length"].flatMap { Int($0) } ?? (body.isEmpty ? nil : body.count)
      full = try Shared(headers, .none(contentLength: length))
      head = nil
    case .length:
      full = try Shared(headers, .bytes(body))
      head = nil
    case .chunked:
      full = try Shared(headers, .chunked(body), trailers: trailers)
      head = try Shared(headers, .none(contentLength: nil))
    }
  }

  /// The form to queue.
  func pointer(toHead isHead: Bool) -> OpaquePointer {
    guard isHead, let head else { return full.wire.pointer }
    return head.wire.pointer
  }

  /// - Throws: ``ServerError`` when it is not one to answer with.
  static func checked(_ status: Int) throws(ServerError) -> UInt32 {
    guard 200...999 ~= status else {
      throw ServerError(
        what: "\(status) is not the status of an answer", where: "response", next: "use one from 200 to 999")
    }
    return UInt32(status)
  }

  /// libmicrohttpd counts the references under a lock of its own, so that any thread may send it.
  private final class Shared: @unchecked Sendable {
    let wire: WireResponse

    init(_ headers: Headers, _ content: WireResponse.Content, trailers: Headers = [:]) throws(ServerError) {
      wire = try WireResponse(headers: headers, content: content, trailers: trailers)
    }
  }
}
