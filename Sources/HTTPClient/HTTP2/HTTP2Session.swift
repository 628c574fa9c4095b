import CCurl
import CNGHTTP2
import EventLoops
import HTTPMessages

/// A connection of HTTP/2 to an upstream (RFC 9113), by nghttp2, on an event loop.
///
/// curl opens the connection, with proxies, TLS and timeouts as for HTTP/1.1. curl's own HTTP/2 is not used: before 8.0.0,
/// it reports a response that ends before its request as an error, and uses a connection without TLS only once.
///
/// Everything runs on the driver's thread. The loop and the driver keep the session until it has closed.
final class HTTP2Session {
  /// The maximum number of concurrent requests, whatever the upstream allows.
  private static let mostStreams = 100
  /// The number of bytes of a response's body that an upstream may send before any has been read. With the stream to the
  /// reader, this bounds the memory of a transfer.
  private static let streamWindow = 1_048_576
  /// The same for all streams of a connection, of bytes that the connection has not looked at.
  private static let connectionWindow: Int32 = 4_194_304
  /// The number of bytes read or written at a time.
  private static let pieceSize = 65_536
  /// Pieces in a turn, after which the loop's other sources get theirs.
  private static let piecesPerTurn = 8
  /// How long a connection without requests is kept, in nanoseconds.
  private static let idleTime: UInt64 = 60_000_000_000

  let key: HTTP2Connections.Key
  private unowned let connections: HTTP2Connections
  private unowned let driver: CurlDriver
  private let easy: EasyHandle
  /// Nil while connecting.
  private var session: OpaquePointer?
  private var descriptor: Int32 = -1
  private var place: EventPlace?
  /// Transfers to begin in the next turn.
  private var waiting: [HTTP2Stream] = []
  private var streams: [Int32: HTTP2Stream] = [:]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: HTTP2Session.pieceSize, alignment: 16)
  /// Bytes received with the end of the handshake.
  private var early: [UInt8] = []
  private var output: [UInt8] = []
  private var sent = 0
  private var received = 0
  private var mayRead = true
  private var isWriteBlocked = false
  private var hasSettings = false
  /// A response has been complete.
  private var hasServed = false
  /// It takes no further requests.
  private var isRetired = false
  private var isClosed = false
  /// Since when there have been no requests; in nanoseconds.
  private var idleSince: UInt64 = 0

  /// Starts connecting.
  ///
  /// - Parameters:
  ///   - key: the upstream.
  ///   - connections: what it belongs to.
  ///   - driver: opens the connection.
  /// - Throws: ``UpstreamError`` if memory is exhausted.
  init(_ key: HTTP2Connections.Key, _ connections: HTTP2Connections, _ driver: CurlDriver) throws {
    self.key = key
    self.connections = connections
    self.driver = driver
    easy = try EasyHandle(driver.settings, trust: key.trust, origin: key.origin, driver: driver)
    try easy.prepareConnection(to: key.origin, offersHTTP2: true)
    easy.session = self
    try driver.connect(easy, to: key.origin)
  }

  deinit {
    nghttp2_session_del(session)
    buffer.deallocate()
  }

  // MARK: Called by the driver

  var isConnected: Bool { session != nil }

  /// Whether it takes another transfer.
  var hasRoom: Bool { !isRetired && !isClosed && streams.count + waiting.count < capacity }

  /// Begins a transfer, once it is connected.
  func add(_ transfer: Transfer) {
    let stream = HTTP2Stream(transfer, on: self)
    transfer.stream = stream
    waiting.append(stream)
    place?.wake()
  }

  /// Removes a transfer. One that has begun and not ended is cancelled.
  func drop(_ stream: HTTP2Stream) {
    if stream.id == 0 {
      waiting.removeAll { $0 === stream }
      if waiting.isEmpty, !isConnected { close(nil) }
    } else if streams.removeValue(forKey: stream.id) != nil {
      reset(stream.id, NGHTTP2_CANCEL)
    }
    place?.wake()
  }

  /// Lets it take no further requests.
  func retire() {
    isRetired = true
    place?.wake()
  }

  /// The connection has been opened, or has failed.
  func connected(_ code: CURLcode) {
    guard code == CURLE_OK else { return close(easy.failure(code, to: key.origin).error(for: key.origin)) }
    // Reading attaches the handle to its connection again: curl does not know what TLS negotiated otherwise.
    if let count = easy.read(into: buffer), count > 0 { early = Array(buffer[..<count]) }
    guard key.origin.scheme == "http" || easy.hasHTTP2 else { return useHTTP1() }
    descriptor = curl_get_socket(easy.raw)
    guard let loop = driver.place?.loop, descriptor >= 0, let session = HTTP2SessionCallbacks.makeSession(for: self)
    else { return close(.cut(key.origin)) }
    self.session = session
    let settings = [
      (NGHTTP2_SETTINGS_ENABLE_PUSH, 0), (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, Self.streamWindow),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, Transfer.headLimit),
    ].map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: UInt32($0.1)) }
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.connectionWindow)
    place = loop.add(self)
  }

  private func useHTTP1() {
    connections.useHTTP1(for: key)
    for stream in waiting { driver.restart(stream.transfer) }
    close(nil)
  }

  /// Closes the connection and ends its transfers.
  ///
  /// - Parameter error: the reason; nil if there are no transfers.
  func close(_ error: UpstreamError?) {
    guard !isClosed else { return }
    isClosed = true
    connections.remove(self)
    if let place {
      place.loop.forget(descriptor)
      place.loop.remove(place)
    }
    driver.disconnect(easy)
    let (begun, waiting) = (streams.values, waiting)
    (streams, self.waiting) = ([:], [])
    for stream in begun {
      // As for HTTP/1.1: a kept connection was about to be closed (RFC 9112, 9.3.1).
      if stream.receivedBefore == received { sendAgain(stream, error) } else { driver.end(stream.transfer, error) }
    }
    for stream in waiting {
      if isConnected { sendAgain(stream, error) } else { driver.end(stream.transfer, error) }
    }
  }

  /// Resends a request that the upstream has not processed.
  private func sendAgain(_ stream: HTTP2Stream, _ error: UpstreamError?) {
    if stream.transfer.rewind() { driver.restart(stream.transfer) } else { driver.end(stream.transfer, error) }
  }

  // MARK: Requests

  /// How many requests there may be at a time. Before the upstream has said it, all but the first one wait.
  private var capacity: Int {
    guard let session, hasSettings else { return Self.mostStreams }
    let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    // With 0, nghttp2 waits until it is more.
    return min(max(1, Int(limit)), Self.mostStreams)
  }

  private func begin() {
    guard !waiting.isEmpty else { return }
    // 0 after a GOAWAY, and when there are no numbers left.
    if nghttp2_session_check_request_allowed(session) == 0 { isRetired = true }
    while !isRetired, !waiting.isEmpty, streams.count < (hasSettings ? capacity : 1) { begin(waiting.removeFirst()) }
    guard isRetired || hasSettings else { return }
    for stream in waiting { driver.restart(stream.transfer) }
  }

  private func begin(_ stream: HTTP2Stream) {
    let head = HTTP2Head(stream.transfer)
    var source = HTTP2SessionCallbacks.contentSource
    stream.id = head.withFields { fields, count in
      if !head.hasBody { return nghttp2_submit_request(session, nil, fields, count, nil, nil) }
      return nghttp2_submit_request(session, nil, fields, count, &source, nil)
    }
    guard stream.id > 0 else {
      let reason = String(cString: nghttp2_strerror(stream.id))
      return driver.end(stream.transfer, UpstreamError.invalid(key.origin, reason))
    }
    stream.receivedBefore = hasServed ? received : nil
    stream.moved = Int64(head.count)
    streams[stream.id] = stream
  }

  private func reset(_ id: Int32, _ code: nghttp2_error_code) {
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
  }

  func resumeSending(_ stream: HTTP2Stream) {
    guard stream.id > 0 else { return }
    nghttp2_session_resume_data(session, stream.id)
    place?.wake()
  }

  func resumeReceiving(_ stream: HTTP2Stream) {
    guard !stream.held.isEmpty, stream.held.withUnsafeBytes({ stream.transfer.takeBody($0) == $0.count }) else {
      return
    }
    nghttp2_session_consume_stream(session, stream.id, stream.held.count)
    stream.held = []
    place?.wake()
  }

  // MARK: Callbacks of nghttp2

  func settingsArrived() { hasSettings = true }

  func fieldArrived(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32) {
    guard let stream = streams[id] else { return }
    stream.moved += Int64(name.count + value.count)
    if !stream.transfer.takeField(name, value) { driver.end(stream.transfer, nil) }
  }

  func fieldsArrived(of id: Int32, endsResponse: Bool) {
    streams[id]?.transfer.fieldsEnd()
    if endsResponse { responseEnded(of: id) }
  }

  func bodyArrived(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
    // A response that is not read does not hold up the others.
    nghttp2_session_consume_connection(session, bytes.count)
    guard let stream = streams[id] else { return }
    stream.moved += Int64(bytes.count)
    if stream.held.isEmpty, stream.transfer.takeBody(bytes) == bytes.count {
      nghttp2_session_consume_stream(session, id, bytes.count)
    } else {
      stream.held += bytes
    }
  }

  func responseEnded(of id: Int32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    // RFC 9113, 8.1: the upstream does not need the rest of the request.
    if nghttp2_session_get_stream_local_close(session, id) == 0 { reset(id, NGHTTP2_NO_ERROR) }
    hasServed = true
    stream.transfer.takeRest(stream.held)
    driver.end(stream.transfer, nil)
  }

  /// A stream has ended before its response, or has been reset by this side.
  func streamClosed(_ id: Int32, _ code: UInt32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    let error = UpstreamError.cut(key.origin, "HTTP/2 error \(String(cString: nghttp2_http2_strerror(code)))")
    switch code {
    // RFC 9113, 8.7: not processed. nghttp2 also closes the streams with it that a GOAWAY excludes.
    case NGHTTP2_REFUSED_STREAM.rawValue:
      // Another connection may be accepted, and this one would refuse it again.
      retire()
      sendAgain(stream, error)
    case NGHTTP2_HTTP_1_1_REQUIRED.rawValue:
      connections.useHTTP1(for: key)
      sendAgain(stream, error)
    default: driver.end(stream.transfer, error)
    }
  }

  /// nghttp2 cannot send a head.
  func requestFailed(_ id: Int32, _ code: Int32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    if code == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue {
      // The connection takes no more requests, and this one has not been sent.
      retire()
      return sendAgain(stream, .cut(key.origin))
    }
    driver.end(stream.transfer, UpstreamError.invalid(key.origin, "the head cannot be sent over HTTP/2"))
  }

  func readContent(of id: Int32, into buffer: UnsafeMutableRawBufferPointer, flags: UnsafeMutablePointer<UInt32>) -> Int
  {
    guard let stream = streams[id] else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    let count = stream.transfer.readUpload(into: buffer)
    switch count {
    case Int(CURL_READFUNC_PAUSE): return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case Int(CURL_READFUNC_ABORT):
      driver.end(stream.transfer, nil)
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    default:
      stream.moved += Int64(count)
      if count == 0 || stream.transfer.isUploadComplete { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
      return count
    }
  }

  // MARK: The connection

  /// Reads what the upstream has sent.
  ///
  /// - Returns: whether there may be more to read at once.
  private func receive() -> Bool {
    if !early.isEmpty {
      early.withUnsafeBytes { parse($0) }
      early = []
    }
    for _ in 0..<Self.piecesPerTurn {
      // An upstream that does not read cannot make this side collect frames for it.
      guard mayRead, !isWriteBlocked || nghttp2_session_get_outbound_queue_size(session) < 1000 else { return false }
      guard let count = easy.read(into: buffer) else {
        close(end)
        return false
      }
      guard count > 0 else {
        mayRead = false
        return false
      }
      parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return true
  }

  private func parse(_ bytes: UnsafeRawBufferPointer) {
    received += bytes.count
    let count = nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    // Too many frames that need an answer, or memory is exhausted.
    if count < 0 { nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM.rawValue) }
  }

  /// Writes what nghttp2 has to send, as far as the upstream reads it.
  ///
  /// - Returns: whether there may be more to write at once.
  private func send() -> Bool {
    for _ in 0..<Self.piecesPerTurn {
      guard !isWriteBlocked else { return false }
      if sent == output.count {
        sent = 0
        output.removeAll(keepingCapacity: true)
        fill()
        guard !output.isEmpty else { return false }
      }
      guard let count = output.withUnsafeBytes({ easy.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) else {
        // What the upstream sent before it closed the connection is read first.
        isWriteBlocked = true
        if !mayRead { close(end) }
        return false
      }
      sent += count
      // After a short write, the next one returns 0 if there is no room.
      isWriteBlocked = count == 0
    }
    return true
  }

  private func fill() {
    while output.count < Self.pieceSize {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      // Negative if memory is exhausted; the connection then ends when its transfers stall.
      guard count > 0 else { return }
      output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
  }

  /// Why the connection has ended.
  private var end: UpstreamError {
    guard received > 0, !hasSettings else { return easy.end(of: key.origin) }
    return UpstreamError(
      kind: .other, message: "\(key.origin) does not answer with HTTP/2: correct its address or scheme")
  }

  /// Ends the connection if it has nothing more to do.
  private func closeIfDone(_ now: UInt64) {
    let isUnused = streams.isEmpty && waiting.isEmpty && (isRetired || idleSince + Self.idleTime <= now)
    // An upstream that does not read is not told.
    if isUnused, isWriteBlocked { return close(nil) }
    guard sent == output.count, nghttp2_session_want_write(session) == 0 else { return }
    if nghttp2_session_want_read(session) == 0 {
      // The upstream broke the protocol, and has been told.
      close(hasSettings ? .cut(key.origin, "it sent invalid HTTP/2") : end)
    } else if isUnused {
      nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
      _ = send()
      close(nil)
    }
  }
}

extension HTTP2Session: EventSource {
  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    if readiness.mayRead { mayRead = true }
    if readiness.mayWrite { isWriteBlocked = false }
  }

  func turn(now: UInt64) -> UInt64? {
    guard !isClosed else { return nil }
    let mayReceive = receive()
    if !isClosed { begin() }
    let maySend = !isClosed && send()
    if !streams.isEmpty || !waiting.isEmpty { idleSince = now }
    if !isClosed { closeIfDone(now) }
    guard !isClosed, let place else { return nil }
    place.loop.watch(
      descriptor,
      for: Readiness(
        rawValue: (mayRead ? 0 : Readiness.reading.rawValue) | (isWriteBlocked ? Readiness.writing.rawValue : 0)),
      at: place)
    return mayReceive || maySend ? now : streams.isEmpty ? idleSince + Self.idleTime : nil
  }

  // The driver closes it.
  func loopEnds() {}
}
