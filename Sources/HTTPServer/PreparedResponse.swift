package import Basics
import CMicroHTTPD
package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A response that is built once and can be sent repeatedly, on any thread, without further allocations.
package final class PreparedResponse: Sendable {
  /// How the length of the body is communicated.
  package enum Framing: Sendable {
    /// With `Content-Length`.
    case length
    /// With the chunked transfer coding; HTTP/1.0 clients get a `Content-Length`.
    case chunked
    /// No body: a response to `HEAD`, or a 304. If there is no `Content-Length` to send, the connection ends with the
    /// response.
    case headOnly(contentLength: Int?)
  }

  private let full: Shared
  /// For `HEAD`, if different: libmicrohttpd 0.9.75 would send the end of a chunked body without its beginning.
  private let head: Shared?
  let status: UInt32
  var headSize: Int { full.wire.headSize }

  /// - Parameters:
  ///   - status: 200 to 999.
  ///   - headers: sent in order, except connection and framing fields, which follow from `framing`.
  ///   - body: the content; ignored if `status` or `framing` do not allow a body.
  ///   - framing: how the length of the body is communicated.
  ///   - trailers: the fields that follow a chunked body.
  /// - Throws: ``CodedError`` for a status or a header field that cannot be sent.
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

  /// The response to queue.
  func pointer(toHead isHead: Bool) -> OpaquePointer {
    guard isHead, let head else { return full.wire.pointer }
    return head.wire.pointer
  }

  /// - Throws: ``CodedError`` if it is not the status of a final response.
  package static func checked(_ status: Int) throws(CodedError) -> UInt32 {
    guard 200...999 ~= status else {
      throw CodedError(
        "\(status) is not a valid response status", at: "response", next: "use one from 200 to 999")
    }
    return UInt32(status)
  }

  /// libmicrohttpd counts the references under its own lock, so any thread may send it.
  private final class Shared: @unchecked Sendable {
    let wire: WireResponse

    init(_ headers: Headers, _ content: WireResponse.Content, trailers: Headers = [:]) throws(CodedError) {
      wire = try WireResponse(headers: headers, content: content, trailers: trailers)
    }
  }
}

/// A response in libmicrohttpd's form; this value owns one reference to it.
struct WireResponse: ~Copyable {
  /// The body.
  enum Content {
    /// Bytes, with a `Content-Length`.
    case bytes([UInt8])
    /// Bytes in the chunked transfer coding (HTTP/1.0: with a `Content-Length`).
    case chunked([UInt8])
    /// No body, with this `Content-Length`. Without one, libmicrohttpd 0.9.75 cannot keep the connection open: its end
    /// then tells the client that nothing follows, and the head says so.
    case none(contentLength: Int?)
    /// A file, with a `Content-Length`; sent with sendfile(2) if available.
    case file(FileBody)
    /// A stream.
    case stream(ResponseStream)
    /// The connection leaves HTTP; its ``Connection`` takes over.
    case upgrade

    /// Whether the body is sent in chunks, which trailers require.
    var mayHaveTrailers: Bool {
      switch self {
      case .chunked: true
      case .stream(let stream): stream.length == nil
      case .bytes, .file, .none, .upgrade: false
      }
    }
  }

  let pointer: OpaquePointer
  /// An upper bound for the size of the head in bytes.
  let headSize: Int

  /// Creates the response.
  ///
  /// - Parameters:
  ///   - headers: the header fields; connection and framing fields are omitted.
  ///   - content: the body.
  ///   - trailers: the fields that follow a chunked body; a stream supplies its own at its end.
  /// - Throws: ``CodedError`` for a header field that cannot be sent.
  init(headers: Headers, content: Content, trailers: Headers = [:]) throws(CodedError) {
    var headers = headers
    let upgrade = headers["Upgrade"]
    headers.removeHopByHop()
    // libmicrohttpd adds `Connection: Upgrade` itself.
    if case .upgrade = content, let upgrade { headers.append("Upgrade", upgrade) }
    headers.remove("Content-Length")
    if !content.mayHaveTrailers { headers.remove("Trailer") }
    guard let pointer = Self.create(content) else {
      throw CodedError(
        "out of memory or file descriptors", at: "response",
        next: "use a stream for a large body, or raise the limit of open files")
    }
    for field in headers.fields {
      guard Self.add(field, to: pointer) else {
        MHD_destroy_response(pointer)
        throw CodedError(
          "the header field '\(field.name)' has a name or a value that cannot be sent",
          at: "response", next: "remove line breaks from the value, and all but token characters from the name")
      }
    }
    for field in trailers.fields { Self.addTrailer(field, to: pointer) }
    if case .stream(let stream) = content { stream.answers(with: pointer) }
    self.pointer = pointer
    headSize = headers.responseHeadSize
  }

  /// Adds a trailer field. Invalid fields are dropped, since the head has already been sent.
  static func addTrailer(_ field: Headers.Field, to response: OpaquePointer) {
    guard field.isSendable else { return }
    _ = MHD_add_response_footer(response, field.name, field.value.isEmpty ? " " : field.value)
  }

  deinit {
    MHD_destroy_response(pointer)
  }

  private static func create(_ content: Content) -> OpaquePointer? {
    switch content {
    case .bytes(let bytes), .chunked(let bytes):
      let response = bytes.withUnsafeBytes { bytes in
        MHD_create_response_from_buffer(
          bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
      }
      guard case .chunked = content, let response else { return response }
      MHD_add_response_header(response, "Transfer-Encoding", "chunked")
      return response
    case .none(let length):
      let size = length.map { UInt64(max(0, $0)) } ?? diorama_size_unknown()
      // The reader is required, but never called for a response without a body.
      let response = MHD_create_response_from_callback(size, 1, { _, _, _, _ in diorama_reader_error() }, nil, nil)
      if length == nil, let response { _ = diorama_response_closes(response) }
      return response
    case .upgrade: return MHD_create_response_for_upgrade(Callbacks.upgraded, nil)
    case .file(let file):
      guard file.length > 0 else { return create(.bytes([])) }
      // The manual: "fd will be closed when response is destroyed", so pass a duplicate.
      let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return nil }
      let response = MHD_create_response_from_fd_at_offset64(UInt64(file.length), descriptor, 0)
      if response == nil { close(descriptor) }
      return response
    case .stream(let stream):
      let size = stream.length.map { UInt64(max(0, $0)) } ?? diorama_size_unknown()
      let context = Unmanaged.passRetained(stream)
      let response = MHD_create_response_from_callback(
        size, 32_768,
        { context, _, buffer, most in
          guard let context, let buffer else { return diorama_reader_error() }
          return Unmanaged<ResponseStream>.fromOpaque(context).takeUnretainedValue()
            .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: most))
        }, context.toOpaque(),
        { context in
          guard let context else { return }
          Unmanaged<ResponseStream>.fromOpaque(context).release()
        })
      if response == nil { context.release() }
      return response
    }
  }

  private static func add(_ field: Headers.Field, to response: OpaquePointer) -> Bool {
    guard field.isSendable else { return false }
    // libmicrohttpd rejects empty values; white space around a value is not part of it (RFC 9110, 5.5).
    return MHD_add_response_header(response, field.name, field.value.isEmpty ? " " : field.value) == .YES
  }
}
