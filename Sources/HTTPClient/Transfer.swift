import CCurl
import HTTPMessages

/// One request on its way, and its response.
///
/// Made by the task that sends; from ``start(_:)`` on it belongs to the driver's thread, which is why it needs no lock.
final class Transfer: @unchecked Sendable {
  let origin: Origin
  let trust: Trust
  let method: String
  let target: String
  let fields: HeaderList
  private(set) var upload: Upload

  /// Where it stands in the thread's list.
  var slot = -1
  /// The handle while it runs.
  var easy: EasyHandle?
  /// Set when it was cancelled before it began.
  var isCancelled = false
  var activity = Activity()

  private let driver: CurlDriver
  private var continuation: UnsafeContinuation<Response, any Error>?
  /// Who waits in place of that, and what has come for it; nil once it is known that it cannot be told so.
  private let receiver: (any RawReceiver)?
  private var raw: RawResponse?
  private var head = ResponseHead()
  /// What may still come behind the body; nil where nothing can.
  private var trailers: Trailers?
  /// The body's first bytes, until the response is handed over.
  private var early: [UInt8] = []
  private var received = 0
  private var headBytes = 0
  private var pipe: BytePipe?
  private var isReceivingPaused = false
  private var isSendingPaused = false
  /// What has ended it on our side.
  private var failure: (any Error)?
  /// Whether who waits has been told.
  private var isHandedOver = false

  static let earlyLimit = 65_536
  /// Bytes of all interim heads, the final head and the trailers together. libcurl limits each line and each head alone.
  private static let headLimit = 1 << 20
  private static let pipeCapacity = 262_144

  /// - Throws: ``UpstreamError`` for a request that cannot be put on the wire.
  init(_ request: Request, to origin: Origin, trust: Trust = .usual, on driver: CurlDriver) throws {
    guard request.method.isToken else { throw UpstreamError.invalid(origin, "the method is '\(request.method)'") }
    let isTarget = request.target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    guard isTarget, request.target.utf8.first == UInt8(ascii: "/") || request.target == "*" else {
      throw UpstreamError.invalid(origin, "'\(request.target)' is no path with a query")
    }
    self.origin = origin
    self.trust = trust
    self.driver = driver
    method = request.method
    target = request.target
    fields = try HeaderList(request, to: origin)
    upload = Upload(request.body)
    receiver = nil
  }

  /// One whose answer goes to a receiver, on the driver's thread; the driver lends the memory for it.
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
    upload = Upload(.bytes(request.body))
  }

  func start(_ continuation: UnsafeContinuation<Response, any Error>) {
    self.continuation = continuation
    if !driver.post(.start(self)) { end(UpstreamError.shutDown(origin)) }
  }

  // MARK: Called by curl

  /// Takes a line of a head or of trailers.
  ///
  /// - Returns: false to end the transfer.
  func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    headBytes += line.count
    guard headBytes <= Self.headLimit else {
      failure = UpstreamError(
        kind: .other, message: "\(origin) answers with more than \(Self.headLimit) bytes of header fields: shorten them"
      )
      return false
    }
    if let raw {
      guard raw.take(line) else { return true }
      if raw.isCoded { leaveRaw(raw) }
      driver.headCame(of: self)
    } else if head.isComplete {
      takeTrailer(line)
    } else if head.take(line) {
      if head.mayHaveTrailers(answering: method) { trailers = Trailers() }
      driver.headCame(of: self)
    }
    return true
  }

  private func takeTrailer(_ line: UnsafeRawBufferPointer) {
    guard let trailers, let field = ResponseHead.field(line) else { return }
    trailers.append(field.name, field.value)
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
    // Without a pipe nobody wants the bytes.
    guard let pipe else { return bytes.count }
    guard pipe.offer(bytes) else {
      isReceivingPaused = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    received += bytes.count
    // Curl ends the transfer only when the request is sent as well.
    if received == head.length { pipe.finish() }
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

  func rewindUpload() -> Bool { upload.rewind() }

  // MARK: Called by the driver

  /// Whether our side is the one that is waited for.
  var isPaused: Bool { isReceivingPaused || isSendingPaused }

  /// Whether it is a stream of events, which come when there is something to tell.
  var mayBeSilent: Bool { pipe != nil && head.isEventStream }

  /// Whether the response's stream is held by nobody but this transfer.
  var isForgotten: Bool { pipe != nil && isKnownUniquelyReferenced(&pipe) }

  /// Sets what resumes the upload, before curl begins to read.
  func prepareUpload() {
    guard let pipe = upload.pipe else { return }
    pipe.onReadable { [self] in driver.post(.resumeSending(self)) }
  }

  /// Lets curl go on; in the driver's thread only.
  func resume(receiving: Bool = false, sending: Bool = false) -> CURLcode {
    guard let easy else { return CURLE_OK }
    if receiving { isReceivingPaused = false }
    if sending { isSendingPaused = false }
    // The callbacks may pause again in here.
    let bits = (isReceivingPaused ? CURLPAUSE_RECV : 0) | (isSendingPaused ? CURLPAUSE_SEND : 0)
    return curl_easy_pause(easy.raw, bits)
  }

  /// Gives the response to the task that waits for it, unless it has it.
  ///
  /// - Parameter isWhole: whether there will be no more bytes.
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
      // No content, whatever its fields say.
    } else if isWhole || early.count == head.length {
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
    if head.status >= 300, let pipe = upload.pipe {
      // Curl sends no more of it after such an answer, so nobody may wait for that.
      pipe.abandon()
      if isSendingPaused { driver.post(.resumeSending(self)) }
    }
    continuation.take()?.resume(returning: response)
    receiver?.began(response)
  }

  /// Goes on as one whose answer is none of bytes.
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

  /// The end of it all: what waits for the response, its body or room in the request's is told.
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
        error ?? UpstreamError(kind: .cut, message: "\(origin) ended without an answer: look into its log")
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

/// What is needed to see that a transfer stands still.
struct Activity {
  /// Bytes both ways, when last looked at.
  var bytes: Int64 = 0
  /// When that number was new; nanoseconds of the monotonic clock.
  var since: UInt64 = 0
}
