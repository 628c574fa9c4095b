import CMicroHTTPD
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A response in libmicrohttpd's form; this value owns one of its references.
struct WireResponse: ~Copyable {
  /// What follows the head.
  enum Content {
    /// These bytes, with their length in the head.
    case bytes([UInt8])
    /// These bytes in the chunked transfer coding (HTTP/1.0: with their length).
    case chunked([UInt8])
    /// No body, and this `Content-Length`. Without one libmicrohttpd 0.9.75 cannot keep the connection: the end of
    /// the connection is then all that tells the client that nothing follows, and the head says so.
    case none(contentLength: Int?)
    /// What a file has, with its length in the head: by sendfile(2) where the system has that.
    case file(FileBody)
    /// What a pipe brings.
    case stream(ResponseStream)
    /// The connection leaves HTTP; its ``Connection`` says what for.
    case upgrade

    /// Whether the body is sent in chunks.
    var mayHaveTrailers: Bool {
      switch self {
      case .chunked: true
      case .stream(let stream): stream.length == nil
      case .bytes, .file, .none, .upgrade: false
      }
    }
  }

  let pointer: OpaquePointer
  /// The most bytes that its head takes.
  let headSize: Int

  /// Makes it.
  ///
  /// - Parameters:
  ///   - headers: of the answer; those of the connection and the framing are left out.
  ///   - content: what follows the head.
  ///   - trailers: fields that follow a chunked body; of a stream's they are asked for at its end.
  /// - Throws: ``ServerError`` for a header field that cannot be sent.
  init(headers: Headers, content: Content, trailers: Headers = [:]) throws(ServerError) {
    var headers = headers
    let upgrade = headers["Upgrade"]
    headers.removeHopByHop()
    // libmicrohttpd adds `Connection: Upgrade` by itself.
    if case .upgrade = content, let upgrade { headers.append("Upgrade", upgrade) }
    headers.remove("Content-Length")
    if !content.mayHaveTrailers { headers.remove("Trailer") }
    guard let pointer = Self.create(content) else {
      throw ServerError(
        what: "no memory or no file descriptor for the response", where: "response",
        next: "use a stream for a large body, or raise the limit of open files")
    }
    for field in headers.fields {
      guard Self.add(field, to: pointer) else {
        MHD_destroy_response(pointer)
        throw ServerError(
          what: "the response's header field '\(field.name)' has a name or a value that cannot be sent",
          where: "response", next: "remove line ends from the value, and all but token characters from the name")
      }
    }
    for field in trailers.fields { Self.addTrailer(field, to: pointer) }
    if case .stream(let stream) = content { stream.answers(with: pointer) }
    self.pointer = pointer
    headSize = headers.responseHeadSize
  }

  /// Adds a field behind the body; one that cannot be sent is left out, since the head has gone.
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
      // The reader is there for the form; nothing is ever read where there is no body.
      let response = MHD_create_response_from_callback(size, 1, { _, _, _, _ in diorama_reader_error() }, nil, nil)
      if length == nil, let response { _ = diorama_response_closes(response) }
      return response
    case .upgrade: return MHD_create_response_for_upgrade(Callbacks.upgraded, nil)
    case .file(let file):
      guard file.length > 0 else { return create(.bytes([])) }
      // The manual: "fd will be closed when response is destroyed", so it gets one of its own.
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
    // libmicrohttpd refuses an empty value; white space around a value is none of it (RFC 9110, 5.5).
    return MHD_add_response_header(response, field.name, field.value.isEmpty ? " " : field.value) == .YES
  }
}
