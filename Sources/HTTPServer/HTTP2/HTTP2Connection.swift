package import Basics
import CNGHTTP2
package import EventLoops
package import HTTPMessages
import Synchronization

/// An HTTP/2 connection of a client (RFC 9113), by nghttp2, on an event loop.
///
/// Each stream becomes a ``Request`` for ``RequestHandler/respond(to:)``, whose response may begin while the request's body
/// is still arriving. A body is a stream with the handler's pace: what it does not read, the client cannot send.
///
/// ```swift
/// // On the loop's thread, for a connection that negotiated h2 by ALPN, or that begins with the connection preface:
/// let connection = try HTTP2Connection(
///   channel, received: bytes, handler: handler, connection: 7, on: loop, closed: { … })
/// …
/// connection.stop(grace: .seconds(5))  // on any thread
/// ```
/// Everything runs on the loop's thread, except ``stop(grace:)`` and the handlers, whose results wake the loop. The loop
/// keeps the connection until it has closed.
///
/// Not offered: server push, `CONNECT`, which is reset with HTTP_1_1_REQUIRED, extended `CONNECT` (RFC 8441) for
/// WebSockets, and upgrades from HTTP/1.1.
package final class HTTP2Connection: @unchecked Sendable {
  private struct Shared {
    /// Streams with something to do.
    var woken: [Int32] = []
    /// When to close, requested by ``stop(grace:)``.
    var end: UInt64?
  }

  /// Bodies up to this length are collected before the handler is called, as for HTTP/1.1.
  private static let collectedLimit = 65_536
  /// The number of bytes read or written at a time.
  private static let pieceSize = 65_536
  /// Pieces in a turn, after which the loop's other sources get theirs.
  private static let piecesPerTurn = 8

  let limits: HTTP2Limits
  private let channel: any DuplexChannel
  private let handler: any RequestHandler
  private let token: UInt64
  private let peer: Peer?
  private let onClose: @Sendable () -> Void
  private let shared = Guarded(Shared())
  /// Handlers that have not returned, including those whose stream was reset.
  private let runningHandlers = Atomic(0)

  // Used on the loop's thread only.
  private let session: OpaquePointer
  private var place: EventPlace?
  private var streams: [Int32: HTTP2Stream] = [:]
  private var touched: [HTTP2Stream] = []
  private var received: [UInt8]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: HTTP2Connection.pieceSize, alignment: 16)
  private var output: [UInt8] = []
  private var sent = 0
  private var mayRead = true
  private var isWriteBlocked = false
  private var isClosed = false
  /// The connection ends once the output has been sent.
  private var isEnding = false
  private var isStopping = false

  // Times, as `monotonicNanoseconds` returns them.
  private var now: UInt64
  /// The last time that bytes were received or sent.
  private var lastTraffic: UInt64
  /// Since when there have been no streams.
  private var emptySince: UInt64?
  private var hasHadStreams = false
  /// The head or the trailers that are still arriving, and since when.
  private var arrivingHead: (stream: Int32, since: UInt64)?
  private var end: UInt64?

  /// Starts serving a connection; called on the loop's thread, or before the loop starts.
  ///
  /// - Parameters:
  ///   - channel: the connection, which this closes. Small writes must not be delayed (TCP_NODELAY).
  ///   - received: bytes already read from it.
  ///   - handler: answers the requests.
  ///   - connection: as in ``Request/connection``; reported to the handler's ``RequestHandler/closed(_:)``.
  ///   - peer: the client process; nil over TCP.
  ///   - limits: limits and timeouts.
  ///   - loop: the loop to run on.
  ///   - closed: called once on the loop's thread, when the channel is about to be closed.
  /// - Throws: ``CodedError`` if memory is exhausted; the channel then stays open.
  package init(
    _ channel: any DuplexChannel, received: [UInt8] = [], handler: any RequestHandler, connection: UInt64,
    peer: Peer? = nil, limits: HTTP2Limits = .init(), on loop: EventLoop, closed: @escaping @Sendable () -> Void = {}
  ) throws(CodedError) {
    guard let session = HTTP2Callbacks.makeSession() else {
      throw CodedError("out of memory", at: "HTTP/2 connection", next: "serve fewer connections at a time")
    }
    self.session = session
    self.channel = channel
    self.received = received
    self.handler = handler
    self.limits = limits
    self.peer = peer
    token = connection
    onClose = closed
    now = monotonicNanoseconds()
    lastTraffic = now
    emptySince = now
    HTTP2Callbacks.connect(session, to: self)
    sendSettings()
    place = loop.add(self)
  }

  deinit {
    nghttp2_session_del(session)
    buffer.deallocate()
  }

  // MARK: From any thread

  /// Refuses further requests (GOAWAY), lets running ones finish, and closes the connection.
  ///
  /// - Parameter grace: the time after which requests that still run are cancelled.
  package func stop(grace: Duration) {
    let (seconds, attoseconds) = grace.components
    let nanoseconds = UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000)
    let time = monotonicNanoseconds() + nanoseconds
    shared.withLock { $0.end = min($0.end ?? .max, time) }
    // Set before the loop knows this object.
    place?.wake()
  }

  private func wake(_ stream: Int32) {
    shared.withLock { $0.woken.append(stream) }
    place?.wake()
  }

  // MARK: Sending

  private func sendSettings() {
    let settings = [
      (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.maximumStreams),
      (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2Limits.streamWindow),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headerLimit),
    ].map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: UInt32(clamping: $0.1)) }
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    nghttp2_session_set_local_window_size(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(HTTP2Limits.connectionWindow))
  }

  /// Writes what nghttp2 has to send, as far as the client reads it.
  ///
  /// - Returns: whether there may be more to write at once.
  private func send() -> Bool {
    for _ in 0..<Self.piecesPerTurn {
      guard !isWriteBlocked else { return false }
      if sent == output.count {
        sent = 0
        output.removeAll(keepingCapacity: true)
        guard fill() else { return false }
      }
      guard let count = output.withUnsafeBytes({ channel.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) else {
        close()
        return false
      }
      sent += count
      if count > 0 { lastTraffic = now }
      // After a short write, the next one returns 0 if there is no room.
      isWriteBlocked = count == 0
    }
    return true
  }

  /// Fills the output from nghttp2.
  ///
  /// - Returns: false if there is nothing to send.
  private func fill() -> Bool {
    while output.count < Self.pieceSize {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count >= 0 else {
        // Out of memory: frames are missing.
        close()
        return false
      }
      guard count > 0 else { break }
      output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
    return !output.isEmpty
  }

  /// Resets a stream. What has arrived of it is dropped.
  private func reset(_ stream: Int32, _ code: nghttp2_error_code) {
    streams[stream]?.isStarted = true
    streams[stream]?.isRefused = true
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
  }

  /// Sends an error and ends the connection.
  private func terminate(_ code: nghttp2_error_code) {
    nghttp2_session_terminate_session(session, code.rawValue)
  }

  // MARK: Receiving

  /// Reads what the client has sent.
  ///
  /// - Returns: whether there may be more to read at once.
  private func receive() -> Bool {
    if !received.isEmpty {
      received.withUnsafeBytes { parse($0) }
      received = []
    }
    for _ in 0..<Self.piecesPerTurn {
      // A client that does not read gets no more responses, nor frames that reject its own.
      guard mayRead, !isEnding, !isWriteBlocked || nghttp2_session_get_outbound_queue_size(session) < 1000 else {
        return false
      }
      guard let count = channel.read(into: buffer) else {
        // HTTP/2 has no half-closed connections: the client does not want any of the responses.
        close()
        return false
      }
      guard count > 0 else {
        mayRead = false
        return false
      }
      lastTraffic = now
      parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return true
  }

  private func parse(_ bytes: UnsafeRawBufferPointer) {
    let count = nghttp2_session_mem_recv(session, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    guard count < 0 else { return }
    // The client does not speak HTTP/2, sends too many frames that need an answer, or memory is exhausted.
    let isFlood = [NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_NOMEM.rawValue].contains(Int32(count))
    terminate(isFlood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR)
    isEnding = true
  }

  /// The loop looks at the stream when it has read all that is available.
  private func touch(_ stream: HTTP2Stream) {
    guard !stream.isTouched else { return }
    stream.isTouched = true
    touched.append(stream)
  }

  // MARK: Callbacks of nghttp2

  /// A head begins, or the trailers of a request.
  func headBegins(of id: Int32, isTrailer: Bool) {
    arrivingHead = (id, now)
    guard !isTrailer else { return }
    // A client may reset streams faster than their handlers notice it, and start others.
    guard !isStopping, runningHandlers.load(ordering: .relaxed) < 2 * limits.maximumStreams else {
      return reset(id, NGHTTP2_REFUSED_STREAM)
    }
    streams[id] = HTTP2Stream(id: id, headerLimit: limits.headerLimit)
    hasHadStreams = true
    emptySince = nil
  }

  func fieldArrived(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32, isTrailer: Bool) {
    guard let stream = streams[id] else { return }
    guard isTrailer else { return stream.head.add(name, value) }
    stream.trailerSize += name.count + value.count + 32
    guard stream.trailerSize <= limits.headerLimit else { return reset(id, NGHTTP2_ENHANCE_YOUR_CALM) }
    let trailers = stream.trailers ?? Trailers()
    trailers.append(String(wire: name), String(wire: value))
    stream.trailers = trailers
  }

  /// A head or trailers are complete.
  func headArrived(of id: Int32, endsRequest: Bool) {
    arrivingHead = nil
    guard let stream = streams[id] else { return }
    if stream.head.isConnect { return reset(id, NGHTTP2_HTTP_1_1_REQUIRED) }
    stream.isRequestComplete = endsRequest
    touch(stream)
  }

  func bodyArrived(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
    // A stream that is not read does not hold up the others.
    nghttp2_session_consume_connection(session, bytes.count)
    guard let stream = streams[id], !stream.isRefused else { return }
    stream.received += bytes.count
    stream.unconsumed += bytes.count
    if stream.received > limits.bodyLimit { return bodyIsTooLarge(stream) }
    stream.held.append(contentsOf: bytes)
    touch(stream)
  }

  func bodyEnded(of id: Int32) {
    guard let stream = streams[id] else { return }
    stream.isRequestComplete = true
    touch(stream)
  }

  /// A frame with END_STREAM has been written.
  func responseEnded(of id: Int32) {
    guard let stream = streams[id] else { return }
    stream.isResponseComplete = true
    // RFC 9113, 8.1: the client may be asked to stop sending a request that has been answered.
    if !stream.isRequestComplete { reset(id, NGHTTP2_NO_ERROR) }
  }

  func streamClosed(_ id: Int32) {
    if arrivingHead?.stream == id { arrivingHead = nil }
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.end()
    if streams.isEmpty { emptySince = now }
  }

  func readContent(of id: Int32, into buffer: UnsafeMutableRawBufferPointer, flags: UnsafeMutablePointer<UInt32>) -> Int
  {
    guard let stream = streams[id] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    switch stream.content.read(into: buffer) {
    case .bytes(let count, let isLast):
      if isLast { contentEnds(stream, flags) }
      return count
    case .empty: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .end:
      contentEnds(stream, flags)
      return 0
    // Resets the stream with INTERNAL_ERROR.
    case .failed: return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
  }

  private func contentEnds(_ stream: HTTP2Stream, _ flags: UnsafeMutablePointer<UInt32>) {
    flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    guard let trailers = stream.responseTrailers else { return }
    let fields = FieldBlock(trailers: trailers.headers)
    guard !fields.isEmpty else { return }
    flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
    _ = fields.withFields { nghttp2_submit_trailer(session, stream.id, $0, $1) }
  }

  // MARK: Requests

  /// Starts the stream's handler, or passes on what has arrived of the body.
  private func proceed(_ stream: HTTP2Stream) {
    stream.isTouched = false
    guard streams[stream.id] === stream else { return }
    if !stream.isStarted { start(stream) }
    if stream.isStarted {
      guard stream.deliver() else { return }
    }
    guard stream.unconsumed > 0 else { return }
    nghttp2_session_consume_stream(session, stream.id, stream.unconsumed)
    stream.unconsumed = 0
  }

  private func start(_ stream: HTTP2Stream) {
    if let refusal = stream.head.refusal { return refuse(stream, refusal) }
    let length = stream.head.contentLength
    if let length, length > limits.bodyLimit { return refuse(stream, .bodyTooLarge) }
    if stream.isRequestComplete {
      let body = stream.held
      stream.held = []
      return start(stream, .bytes(body), upload: nil)
    }
    if stream.head.expectsContinue, stream.received == 0 {
      stream.head.expectsContinue = false
      _ = FieldBlock(interim: 100).withFields {
        nghttp2_submit_headers(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, nil, $0, $1, nil)
      }
    }
    if let length, length <= Self.collectedLimit { return }
    if stream.trailers == nil { stream.trailers = Trailers() }
    let pipe = BytePipe()
    start(stream, .stream(pipe, length: length), upload: pipe)
  }

  private func start(_ stream: HTTP2Stream, _ body: Body, upload: BytePipe?) {
    stream.isStarted = true
    let id = stream.id
    let call = HandlerCall(upload: upload) { self.wake(id) }
    stream.call = call
    var request = Request(
      method: stream.head.method, target: stream.head.target, headers: stream.head.headers, body: body,
      connection: token, peer: peer)
    request.trailers = stream.trailers
    request.isHTTP2 = true
    request.responseHeadLimit = FieldBlock.sizeLimit
    let handler = handler
    runningHandlers.add(1, ordering: .relaxed)
    call.start(
      handler,
      { request in
        defer { self.runningHandlers.subtract(1, ordering: .relaxed) }
        return try await handler.respond(to: request)
      }, request)
    attend(stream)
  }

  private func bodyIsTooLarge(_ stream: HTTP2Stream) {
    // A response that has begun can only be cut.
    guard !stream.isAnswered else { return reset(stream.id, NGHTTP2_CANCEL) }
    let limit = limits.bodyLimit
    stream.call?.upload?.fail(BodyError("request: the body exceeds \(limit) bytes; raise the server's body limit"))
    stream.call?.end(complete: false)
    refuse(stream, .bodyTooLarge)
  }

  // MARK: Responses

  /// Does what a stream was woken for.
  private func attend(_ stream: HTTP2Stream) {
    guard let call = stream.call else { return }
    call.runJobs()
    if let outcome = call.takeOutcome() { respond(stream, outcome, of: call) }
    if case .stream = stream.content { nghttp2_session_resume_data(session, stream.id) }
  }

  private func respond(_ stream: HTTP2Stream, _ outcome: Result<Response, any Error>, of call: HandlerCall) {
    do {
      let response = try outcome.get()
      if response.fault != nil {
        // One stream of many: the others are not affected.
        if case .stream(let pipe, _) = response.body { pipe.abandon() }
        return reset(stream.id, NGHTTP2_INTERNAL_ERROR)
      }
      guard response.upgrade == nil else {
        throw CodedError("HTTP/2 has no upgrades (RFC 9113, 8.6)", at: "response", next: "use HTTP/1.1")
      }
      let isEmpty = response.status == 204 || response.status == 304 || stream.head.method == "HEAD"
      var length = response.body.length
      if isEmpty {
        let given = response.headers["Content-Length"].flatMap { Int($0) }
        length = response.status == 204 ? nil : given ?? length.flatMap { $0 == 0 ? nil : $0 }
      }
      let head = try FieldBlock(status: response.status, headers: response.headers, contentLength: length)
      if !isEmpty { stream.responseTrailers = response.trailers }
      submit(stream, head, isEmpty ? .none : content(of: response, for: stream, in: call))
      if isEmpty, case .stream(let pipe, _) = response.body { pipe.abandon() }
    } catch {
      if case .success(let response) = outcome, case .stream(let pipe, _) = response.body { pipe.abandon() }
      refuse(stream, .failure("\(error)"))
    }
  }

  private func content(of response: Response, for stream: HTTP2Stream, in call: HandlerCall) -> ResponseContent {
    switch response.body {
    case .bytes(let bytes): return bytes.isEmpty ? .none : .bytes(bytes[...])
    case .file(let file): return file.length == 0 ? .none : .file(file, offset: 0)
    case .stream(let pipe, let length):
      let id = stream.id
      pipe.onReadable { self.wake(id) }
      call.sends(pipe)
      return .stream(pipe, remaining: length, untilEnd: response.trailers != nil)
    }
  }

  /// Sends an error of the server itself.
  private func refuse(_ stream: HTTP2Stream, _ refusal: Refusal) {
    stream.isStarted = true
    stream.isRefused = true
    stream.held = []
    let body = stream.head.method == "HEAD" ? [] : refusal.body
    guard
      let head = try? FieldBlock(
        status: Int(refusal.status), headers: refusal.headers, contentLength: refusal.body.count)
    else { return reset(stream.id, NGHTTP2_INTERNAL_ERROR) }
    submit(stream, head, body.isEmpty ? .none : .bytes(body[...]))
  }

  private func submit(_ stream: HTTP2Stream, _ head: FieldBlock, _ content: ResponseContent) {
    guard !stream.isAnswered else { return }
    stream.isAnswered = true
    stream.content = content
    let code: Int32
    if case .none = content, stream.responseTrailers == nil {
      code = head.withFields { nghttp2_submit_response(session, stream.id, $0, $1, nil) }
    } else {
      var source = HTTP2Callbacks.contentSource
      code = head.withFields { nghttp2_submit_response(session, stream.id, $0, $1, &source) }
    }
    if code != 0 { reset(stream.id, NGHTTP2_INTERNAL_ERROR) }
  }
}

extension HTTP2Connection: EventSource {
  package func isReady(_ descriptor: Int32, for readiness: Readiness) {
    if readiness.mayRead { mayRead = true }
    if readiness.mayWrite { isWriteBlocked = false }
  }

  package func turn(now: UInt64) -> UInt64? {
    guard !isClosed else { return nil }
    self.now = now
    let (woken, end) = shared.withLock { shared in
      defer { shared.woken.removeAll(keepingCapacity: true) }
      return (shared.woken, shared.end)
    }
    if let end { startStopping(until: end) }
    for id in woken {
      guard let stream = streams[id] else { continue }
      attend(stream)
      proceed(stream)
    }
    let mayReceive = receive()
    let streams = touched
    touched.removeAll(keepingCapacity: true)
    if !isClosed { streams.forEach(proceed) }
    let maySend = !isClosed && send()
    if !isClosed { closeIfDone() }
    guard !isClosed else { return nil }
    let next = deadline()
    guard !isClosed else { return nil }
    watch()
    return mayReceive || maySend ? now : next
  }

  package func loopEnds() {
    close()
  }

  private func watch() {
    guard let place else { return }
    var readiness: Readiness = []
    if !mayRead, !isEnding { readiness.insert(.reading) }
    if isWriteBlocked { readiness.insert(.writing) }
    place.loop.watch(channel.descriptor, for: readiness, at: place)
  }

  // MARK: The end

  private func startStopping(until end: UInt64) {
    self.end = end
    guard !isStopping else { return }
    isStopping = true
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session),
      NGHTTP2_NO_ERROR.rawValue, nil, 0)
  }

  private func closeIfDone() {
    guard sent == output.count, nghttp2_session_want_write(session) == 0 else { return }
    if isEnding || isStopping && streams.isEmpty || nghttp2_session_want_read(session) == 0 { close() }
  }

  /// When the connection has to do something without an event; does it if that time has come.
  private func deadline() -> UInt64? {
    let idle = UInt64(limits.idleSeconds) * 1_000_000_000
    let head = UInt64(limits.headSeconds) * 1_000_000_000
    if let end, end <= now {
      close()
      return nil
    }
    if let arrivingHead, arrivingHead.since + head <= now { return cut(NGHTTP2_ENHANCE_YOUR_CALM) }
    var times = [end, arrivingHead.map { $0.since + head }].compactMap(\.self)
    if let emptySince {
      let time = emptySince + (hasHadStreams ? idle : head)
      if time <= now { return cut(NGHTTP2_NO_ERROR) }
      times.append(time)
    } else {
      if lastTraffic + idle <= now, isClientAwaited { return cut(NGHTTP2_NO_ERROR) }
      times.append(max(lastTraffic, now) + idle)
    }
    return times.min()
  }

  /// Whether progress depends on the client and not on a handler.
  private var isClientAwaited: Bool {
    if isWriteBlocked || nghttp2_session_get_remote_window_size(session) <= 0 { return true }
    return streams.values.contains { stream in
      let isBlocked = stream.isAnswered && nghttp2_session_get_stream_remote_window_size(session, stream.id) <= 0
      return isBlocked || !stream.isStarted
    }
  }

  /// Ends a connection whose client keeps it busy or idle for too long.
  private func cut(_ code: nghttp2_error_code) -> UInt64? {
    terminate(code)
    isEnding = true
    // If the client does not read, there is nothing to wait for.
    if !isWriteBlocked { _ = send() }
    close()
    return nil
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    for stream in streams.values { stream.end() }
    streams = [:]
    touched = []
    if let place {
      place.loop.forget(channel.descriptor)
      place.loop.remove(place)
    }
    handler.closed(token)
    onClose()
    channel.close()
  }
}
