import Basics
import CCurl
import HTTPMessages

/// One request in progress, and its response.
///
/// Created by the sending task. From ``start(_:)`` on, only the driver's thread uses it, so it needs no lock.
final class Transfer: @unchecked Sendable {
  let origin: Origin
  let trust: Trust
  let method: String
  let target: String
  let fields: HeaderList
  /// Whether to use HTTP/2 if the upstream has it.
  let isHTTP2: Bool
  private(set) var upload: Upload

  /// Its index in the driver's list.
  var slot = -1
  /// The handle while the transfer runs over HTTP/1.1.
  var easy: EasyHandle?
  /// The stream while the transfer runs over HTTP/2.
  var stream: HTTP2Stream?
  /// Set if it was cancelled before it began.
  var isCancelled = false
  var activity = Activity()

  private let driver: CurlDriver
  private var continuation: UnsafeContinuation<Response, any Error>?
  /// Taken before the continuation is resumed and after it was awaited, since the thread sanitizer does not see how the
  /// runtime synchronizes a continuation that is resumed first.
  private let handover = Guarded(false)
  /// The receiver used in place of the continuation, and the raw response; nil once raw delivery is ruled out.
  private let receiver: (any RawReceiver)?
  private var raw: RawResponse?
  private var head = ResponseHead()
  /// The trailers still to come; nil if there can be none.
  private var trailers: Trailers?
  /// The body's first bytes, until the response is delivered.
  private var early: [UInt8] = []
  private var received = 0
  private var headBytes = 0
  private var repetitions = 0
  private var pipe: BytePipe?
  private var isReceivingPaused = false
  private var isSendingPaused = false
  /// The error that ended it on our side.
  private var failure: (any Error)?
  /// Whether the response or error has been delivered.
  private var isHandedOver = false

  static let earlyLimit = 65_536
  /// The maximum size of all heads and trailers together in bytes. libcurl limits each line and each head only.
  static let headLimit = 1 << 20
  /// How often a request is sent again that servers have refused.
  private static let mostRepetitions = 3
  private static let pipeCapacity = 262_144

  /// - Throws: ``UpstreamError`` for a request that cannot be sent.
  init(_ request: Request, to origin: Origin, trust: Trust = .usual, on driver: CurlDriver) throws {
    guard request.method.isToken else { throw UpstreamError.invalid(origin, "the method is '\(request.method)'") }
    let isTarget = request.target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    guard isTarget, request.target.utf8.first == UInt8(ascii: "/") || request.target == "*" else {
      throw UpstreamError.invalid(origin, "'\(request.target)' is not a path with a query")
    }
    self.origin = origin
    self.trust = trust
    self.driver = driver
    method = request.method
    target = request.target
    fields = try HeaderList(request, to: origin)
    isHTTP2 = request.isHTTP2
    upload = Upload(request.body)
    receiver = nil
  }

  /// A transfer that delivers to a receiver on the driver's thread, using memory that the driver lends.
  init(
    _ request: RawRequest, to origin: Origin, trust: Trust, on driver: CurlDriver, _ raw: RawResponse,
    _ receiver: any RawReceiver
  ) {
    self.origin = origin
    self.trust = trust
    self.driver = driver
    self.receiver = receiver
    self.raw = raw
    method = request.method
    target = request.target
    fields = request.fields
    isHTTP2 = false
    upload = Upload(.bytes(request.body))
  }

  func start(_ continuation: UnsafeContinuation<Response, any Error>) {
    self.continuation = continuation
    if !driver.post(.start(self)) { end(UpstreamError.shutDown(origin)) }
  }

  /// Call it after the response was awaited.
  func awaited() { handover.withLock { $0.toggle() } }

  // MARK: Called by curl

  /// Adds a line of a head or of trailers.
  ///
  /// - Returns: false to end the transfer.
  func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    guard hasRoom(line.count) else { return false }
    if let raw {
      guard raw.take(line) else { return true }
      if raw.isCoded { leaveRaw(raw) }
      driver.headCame(of: self)
    } else if head.isComplete {
      if let trailers, let field = ResponseHead.field(line) { trailers.append(field.name, field.value) }
    } else if head.take(line) {
      headCame()
    }
    return true
  }

  private func hasRoom(_ count: Int) -> Bool {
    headBytes += count
    guard headBytes > Self.headLimit else { return true }
    failure = UpstreamError(
      kind: .other, message: "\(origin) sent more than \(Self.headLimit) bytes of header fields: shorten them")
    return false
  }

  private func headCame() {
    if head.mayHaveTrailers(answering: method) { trailers = Trailers() }
    driver.headCame(of: self)
  }

  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let raw {
      if raw.bodyCount + bytes.count <= Self.earlyLimit { return raw.takeBody(bytes) ? bytes.count : 0 }
      handOver()
    }
    if pipe == nil {
      if early.count + bytes.count <= Self.earlyLimit {
        early += bytes
        received += bytes.count
        return bytes.count
      }
      handOver()
    }
    // Without a pipe, the bytes are dropped.
    guard let pipe else { return bytes.count }
    guard pipe.offer(bytes) else {
      isReceivingPaused = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    received += bytes.count
    // Curl ends the transfer only after the request has been sent as well.
    if trailers == nil, received == head.length { pipe.finish() }
    return bytes.count
  }

  func readUpload(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch upload.read(into: buffer) {
    case .bytes(let count): return count
    case .later:
      isSendingPaused = true
      return Int(CURL_READFUNC_PAUSE)
    case .failed(let error):
      failure = error
      return Int(CURL_READFUNC_ABORT)
    }
  }

  /// Ends the transfer, whose response head libcurl cannot read safely.
  func refuseHead() {
    guard let easy else { return }
    failure = easy.failure(CURLE_BAD_FUNCTION_ARGUMENT, to: origin).error(for: origin)
    driver.post(.cancel(self))
  }

  func rewindUpload() -> Bool { upload.rewind() }

  // MARK: Called by HTTP/2, which also calls takeBody and readUpload

  /// Adds a field of a head or of trailers.
  ///
  /// - Returns: false to end the transfer.
  func takeField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    guard hasRoom(name.count + value.count + 4) else { return false }
    if head.isComplete { trailers?.append(String(wire: name), String(wire: value)) } else { head.take(name, value) }
    return true
  }

  /// A head or the trailers are complete.
  func fieldsEnd() {
    if !head.isComplete, head.end() { headCame() }
  }

  /// The response has ended; takes the rest of its body.
  func takeRest(_ bytes: [UInt8]) { pipe?.finish(with: bytes) }

  /// Whether all of a request of known length has been read.
  var isUploadComplete: Bool { upload.isComplete }

  /// Prepares sending a request again that the upstream has not processed.
  ///
  /// - Returns: false if it cannot be sent again.
  func rewind() -> Bool {
    repetitions += 1
    guard repetitions <= Self.mostRepetitions, head.status == 0, upload.rewind() else { return false }
    isSendingPaused = false
    return true
  }

  // MARK: Called by the driver

  /// The number of bytes transferred in both directions; nil while connecting.
  var bytesMoved: Int64? { stream.map(\.bytesMoved) ?? easy?.bytesMoved }

  /// Whether it waits for our side.
  var isPaused: Bool { isReceivingPaused || isSendingPaused }

  /// Whether the response has no length, so that it may be a stream, which may be silent.
  var mayBeSilent: Bool { pipe != nil && head.length == nil }

  /// Whether only this transfer still references the response's stream.
  var isForgotten: Bool { pipe != nil && isKnownUniquelyReferenced(&pipe) }

  /// Sets up resuming the upload, before curl starts to read.
  func prepareUpload() {
    guard let pipe = upload.pipe else { return }
    pipe.onReadable { [self] in driver.post(.resumeSending(self)) }
  }

  /// Lets it continue; on the driver's thread only.
  func resume(receiving: Bool = false, sending: Bool = false) -> CURLcode {
    if receiving { isReceivingPaused = false }
    if sending { isSendingPaused = false }
    stream?.resume(receiving: receiving, sending: sending)
    guard let easy else { return CURLE_OK }
    // The callbacks may pause again during this call.
    let bits = (isReceivingPaused ? CURLPAUSE_RECV : 0) | (isSendingPaused ? CURLPAUSE_SEND : 0)
    return curl_easy_pause(easy.raw, bits)
  }

  /// Delivers the response unless that has been done.
  ///
  /// - Parameter isWhole: whether the body is complete.
  func handOver(isWhole: Bool = false) {
    if let raw {
      guard raw.isComplete else { return }
      if isWhole || raw.isWhole { return handOver(raw) }
      leaveRaw(raw)
    }
    guard head.isComplete, !isHandedOver else { return }
    isHandedOver = true
    var response = Response(status: head.status, reason: head.reason, headers: head.headers, trailers: trailers)
    if head.hasNoBody(answering: method) {
      // No body, whatever the fields declare.
    } else if isWhole || (trailers == nil && early.count == head.length) {
      response.body = .bytes(early)
    } else {
      let pipe = BytePipe(capacity: Self.pipeCapacity)
      pipe.onWritable { [self] in driver.post(.resumeReceiving(self)) }
      pipe.onAbandoned { [self] in driver.post(.cancel(self)) }
      early.withUnsafeBytes { _ = pipe.offer($0) }
      self.pipe = pipe
      response.body = .stream(pipe, length: head.length)
    }
    early = []
    upload.settle()
    if stream == nil, head.status >= 300, let pipe = upload.pipe {
      // Curl stops sending the body after such a response, so its writer must not wait.
      pipe.abandon()
      if isSendingPaused { driver.post(.resumeSending(self)) }
    }
    awaited()
    continuation.take()?.resume(returning: response)
    receiver?.began(response)
  }

  /// Continues with a regular response instead of a raw one.
  private func leaveRaw(_ raw: RawResponse) {
    self.raw = nil
    head = ResponseHead(raw.response)
    if head.mayHaveTrailers(answering: method) { trailers = Trailers() }
    early = Array(raw.bytes)
    received = early.count
    driver.takeBack(raw)
  }

  private func handOver(_ raw: RawResponse) {
    self.raw = nil
    isHandedOver = true
    receiver?.came(raw)
    driver.takeBack(raw)
  }

  /// Ends the transfer: notifies the waiting task, the response's stream and the request's stream.
  func end(_ error: (any Error)?) {
    let error = failure ?? error
    if error == nil {
      handOver(isWhole: true)
    } else if !(error is CancellationError) {
      handOver()
    }
    if let raw { driver.takeBack(raw) }
    raw = nil
    if !isHandedOver {
      isHandedOver = true
      let error =
        error ?? UpstreamError(kind: .cut, message: "\(origin) ended without a response: check the upstream's log")
      continuation.take()?.resume(throwing: error)
      receiver?.failed(error)
    }
    if let pipe {
      if let error { pipe.fail(error) } else { pipe.finish() }
      pipe.onWritable(nil)
    }
    pipe = nil
    if let pipe = upload.pipe {
      pipe.onReadable(nil)
      pipe.abandon()
    }
  }
}

/// The state for detecting stalled transfers.
struct Activity {
  /// The number of bytes transferred in both directions at the last check.
  var bytes: Int64 = 0
  /// When that number last changed, in nanoseconds of the monotonic clock.
  var since: UInt64 = 0
}
