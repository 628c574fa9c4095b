import CNGHTTP2
import Glibc
import HTTPMessages
import TestSupport

/// A client by nghttp2 whose every frame the test decides. Its calls block: run them in `onThread(_:)`.
final class TestClient: @unchecked Sendable {
  /// What has been received on a stream.
  struct Answer {
    var interim: [Int] = []
    var headers: Headers = [:]
    var body: [UInt8] = []
    var trailers: Headers = [:]
    /// The stream has been closed with this error code.
    var code: UInt32?
    /// The server reset the stream with this error code.
    var reset: UInt32?

    var status: Int { headers[":status"].flatMap { Int($0) } ?? 0 }
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// What is to be sent on a stream.
  private struct Upload {
    var bytes: ArraySlice<UInt8> = []
    var isOver = false
    var trailers: [(String, String)] = []
  }

  private(set) var answers: [Int32: Answer] = [:]
  /// The error code of the server's GOAWAY.
  private(set) var goAway: UInt32?
  private(set) var lastStream: Int32?
  private(set) var isClosed = false
  /// The number of body bytes sent.
  private(set) var sentBody = 0
  /// Whether received bytes are acknowledged, so the server may send more.
  var isReading = true

  private var uploads: [Int32: Upload] = [:]
  private var session: OpaquePointer?
  private let descriptor: Int32
  private var output: ArraySlice<UInt8> = []
  private var blocks: [Int32: Int] = [:]

  init(port: UInt16, window: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafeBytes(of: address) { bytes in
      connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard result == 0 else { throw RawClient.Failure(description: "cannot connect") }
    var options: OpaquePointer?
    nghttp2_option_new(&options)
    nghttp2_option_set_no_auto_window_update(options, 1)
    // The server, not this client, is to judge what is sent.
    nghttp2_option_set_no_http_messaging(options, 1)
    nghttp2_session_client_new2(&session, Self.callbacks, Unmanaged.passUnretained(self).toOpaque(), options)
    nghttp2_option_del(options)
    let settings = window.map {
      [nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32($0))]
    }
    nghttp2_submit_settings(session, 0, settings ?? [], settings?.count ?? 0)
  }

  deinit {
    nghttp2_session_del(session)
    close(descriptor)
  }

  // MARK: Requests

  /// Queues a request; its body stays open if `body` is nil.
  @discardableResult
  func request(
    _ method: String = "GET", _ path: String = "/", _ headers: [(String, String)] = [], body: [UInt8]? = [],
    pseudo: [(String, String)]? = nil
  ) -> Int32 {
    let fields =
      pseudo ?? [(":method", method), (":scheme", "http"), (":authority", "test.example"), (":path", path)]
    var source = nghttp2_data_provider(
      source: nghttp2_data_source(), read_callback: { TestClient.of($6).upload($1, $2, $3, $4) })
    let stream =
      body?.isEmpty == true
      ? Self.with(fields + headers) { nghttp2_submit_request(session, nil, $0, $1, nil, nil) }
      : Self.with(fields + headers) { nghttp2_submit_request(session, nil, $0, $1, &source, nil) }
    answers[stream] = Answer()
    uploads[stream] = Upload(bytes: (body ?? [])[...], isOver: body != nil)
    return stream
  }

  /// Queues more of a request's body.
  func send(_ bytes: [UInt8], on stream: Int32) {
    uploads[stream]?.bytes += bytes
    nghttp2_session_resume_data(session, stream)
  }

  /// Ends a request's body.
  func finish(_ stream: Int32, trailers: [(String, String)] = []) {
    uploads[stream]?.isOver = true
    uploads[stream]?.trailers = trailers
    nghttp2_session_resume_data(session, stream)
  }

  func reset(_ stream: Int32) {
    nghttp2_submit_rst_stream(session, 0, stream, NGHTTP2_CANCEL.rawValue)
  }

  func ping() { nghttp2_submit_ping(session, 0, nil) }

  /// Ends the connection.
  func leave() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Lets the server send as many bytes of a stream's body as have been received.
  func acknowledge(_ stream: Int32) {
    nghttp2_session_consume(session, stream, blocks[stream] ?? 0)
    blocks[stream] = 0
  }

  // MARK: Waiting

  /// Waits until the server has seen as much of the bodies as it accepts.
  func sendAll() throws {
    var before = -1
    while sentBody > before {
      before = sentBody
      try synchronize()
    }
  }

  /// Sends and receives until something is true.
  func wait(until isTrue: () -> Bool) throws {
    while !isTrue() {
      try flush()
      guard !isTrue() else { return }
      guard !isClosed else { throw RawClient.Failure(description: "the connection ended: \(answers)") }
      var ready = pollfd(fd: descriptor, events: Int16(output.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
      guard poll(&ready, 1, 120_000) > 0 else { throw RawClient.Failure(description: "nothing came: \(answers)") }
      guard ready.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { continue }
      receive()
    }
  }

  /// Waits for the end of a stream.
  func answer(_ stream: Int32) throws -> Answer {
    try wait { answers[stream]?.code != nil }
    return answers[stream] ?? Answer()
  }

  /// Sends what there is and waits until the server has seen it all: it answers a PING.
  func synchronize() throws {
    let before = pings
    ping()
    try wait { pings > before }
  }

  /// Waits until the server has closed the connection.
  func end() throws {
    while !isClosed {
      try flush()
      receive()
    }
  }

  private var pings = 0

  private func flush() throws {
    while true {
      if output.isEmpty {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(session, &bytes)
        guard count > 0 else { return }
        output = Array(UnsafeBufferPointer(start: bytes, count: count))[...]
      }
      let count = output.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      // The server may have closed the connection after a GOAWAY, which is still to be read.
      guard count > 0 else { return }
      output = output.dropFirst(count)
    }
  }

  private func receive() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0, nghttp2_session_mem_recv(session, buffer, count) >= 0 else {
      isClosed = true
      return
    }
  }

  // MARK: nghttp2

  private static func with(_ fields: [(String, String)], _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    let texts = fields.map { (strdup($0.0), strdup($0.1)) }
    defer {
      for text in texts {
        free(text.0)
        free(text.1)
      }
    }
    let values = texts.map { name, value in
      nghttp2_nv(
        name: name.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt8.self) },
        value: value.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt8.self) },
        namelen: name.map { strlen($0) } ?? 0, valuelen: value.map { strlen($0) } ?? 0, flags: 0)
    }
    return values.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
  }

  private func upload(
    _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ most: Int, _ flags: UnsafeMutablePointer<UInt32>?
  ) -> Int {
    guard let upload = uploads[stream] else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    let piece = upload.bytes.prefix(most)
    guard !piece.isEmpty || upload.isOver else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    piece.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: buffer, count: most).copyMemory(from: $0) }
    uploads[stream]?.bytes = upload.bytes.dropFirst(piece.count)
    sentBody += piece.count
    if upload.isOver, piece.count == upload.bytes.count {
      flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      if !upload.trailers.isEmpty {
        flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        _ = Self.with(upload.trailers) { nghttp2_submit_trailer(session, stream, $0, $1) }
      }
    }
    return piece.count
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> TestClient {
    guard let context else { preconditionFailure("nghttp2 passes the user data of the session") }
    return Unmanaged<TestClient>.fromOpaque(context).takeUnretainedValue()
  }

  private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
    var callbacks: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, frame, name, nameCount, value, valueCount, _, me in
      let client = of(me)
      guard let frame = frame?.pointee else { return 0 }
      let name = String(wire: UnsafeRawBufferPointer(start: name, count: nameCount))
      let value = String(wire: UnsafeRawBufferPointer(start: value, count: valueCount))
      let stream = frame.hd.stream_id
      if name == ":status", value.hasPrefix("1") {
        client.answers[stream]?.interim.append(Int(value) ?? 0)
      } else if client.answers[stream]?.status == 0 || frame.headers.cat == NGHTTP2_HCAT_RESPONSE {
        client.answers[stream]?.headers.append(name, value)
      } else {
        client.answers[stream]?.trailers.append(name, value)
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, me in
      let client = of(me)
      client.answers[stream]?.body += UnsafeBufferPointer(start: bytes, count: count)
      client.blocks[stream, default: 0] += count
      if client.isReading { client.acknowledge(stream) }
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, me in
      of(me).answers[stream]?.code = code
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
      guard let frame = frame?.pointee else { return 0 }
      switch UInt32(frame.hd.type) {
      case NGHTTP2_GOAWAY.rawValue:
        of(me).goAway = frame.goaway.error_code
        of(me).lastStream = frame.goaway.last_stream_id
      case NGHTTP2_PING.rawValue: of(me).pings += 1
      case NGHTTP2_RST_STREAM.rawValue: of(me).answers[frame.hd.stream_id]?.reset = frame.rst_stream.error_code
      default: break
      }
      return 0
    }
    return callbacks
  }()
}
