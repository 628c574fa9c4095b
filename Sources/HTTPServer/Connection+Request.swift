import CMicroHTTPD
import HTTPMessages
import Synchronization

extension Connection {
  /// The maximum length of a body that is collected before the handler is called.
  static let collectedLimit = 65_536

  /// The request line has arrived.
  ///
  /// libmicrohttpd is about to split the target in place; only now is it in memory as sent.
  func targetArrived(_ target: UnsafeMutablePointer<CChar>?) {
    guard let target else { return }
    let bytes = UnsafeMutableRawBufferPointer(start: target, count: strlen(target))
    request.pointee.target.append(UnsafeRawBufferPointer(bytes))
    // The target is never read from libmicrohttpd, so leave it nothing to decode and index: an index of the query's
    // items would use memory of the head.
    if let mark = bytes.firstIndex(of: UInt8(ascii: "?")), mark + 1 < bytes.count { bytes[mark + 1] = 0 }
    if !bytes.isEmpty { bytes[0] = 0 }
  }

  /// libmicrohttpd's access handler: called when the head has arrived, for each piece of the body with a non-zero
  /// `size`, when the request is complete, and each time the connection is resumed.
  func handle(
    _ raw: OpaquePointer, target: UnsafePointer<CChar>?, method: UnsafePointer<CChar>,
    version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?, size: UnsafeMutablePointer<Int>
  ) -> MHD_Result {
    switch request.pointee.stage {
    case .head:
      waitingSince.store(0, ordering: .sequentiallyConsistent)
      request.pointee.method = UnsafeRawBufferPointer(start: method, count: strlen(method))
      request.pointee.isOld = version.map { strcmp($0, "HTTP/1.0") == 0 } ?? true
      request.pointee.isHead = request.pointee.method.elementsEqual("HEAD".utf8)
      request.pointee.stage = .body
      guard let version, isRequestLineValid(method, target, version) else {
        return refuseFraming(raw, .requestLineInvalid)
      }
      if let fault = Refusal.fault(inHeadOf: raw, method: method, version: version) {
        return refuseFraming(raw, fault)
      }
      return headArrived(raw)
    case .body:
      guard size.pointee != 0 else { return serve(raw) }
      return bodyBegins(raw, take(upload, size))
    case .collecting:
      guard size.pointee != 0 else { return serve(raw) }
      request.pointee.body.append(take(upload, size))
      return .YES
    case .uploading:
      guard size.pointee != 0 else {
        request.pointee.call?.upload?.finish()
        request.pointee.stage = .answering
        return answer(raw)
      }
      return pass(upload, size)
    case .passing: return passed(raw)
    case .answering: return answer(raw)
    case .lingering:
      guard size.pointee != 0 else { return .NO }
      size.pointee = 0
      return .YES
    }
  }

  private func take(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> UnsafeRawBufferPointer {
    defer { size.pointee = 0 }
    return UnsafeRawBufferPointer(start: upload, count: size.pointee)
  }

  // MARK: The head

  private func headArrived(_ raw: OpaquePointer) -> MHD_Result {
    let limit = core.configuration.headerLimit
    let head = diorama_connection_head_size(raw)
    if head > limit / 2 {
      if request.pointee.target.count + 16 > limit { return refuse(raw, .targetTooLong) }
      guard head <= limit, room(raw) >= 2048 else { return refuse(raw, .headTooLarge) }
    }
    if let coding = Head.field("Transfer-Encoding", of: raw) {
      // RFC 9112, 6.1: HTTP/1.0 has no transfer codings; a proxy may have read such a message differently.
      if request.pointee.isOld { return refuseFraming(raw, .codingInOldVersion) }
      guard Head.text(coding).equalsIgnoringASCIICase("chunked") else { return refuse(raw, .codingUnknown) }
    }
    // A GET or HEAD with a body is checked when the body begins.
    guard let first = request.pointee.method.first, first != UInt8(ascii: "G"), first != UInt8(ascii: "H") else {
      return .YES
    }
    if let length = declaredLength(raw), length > core.configuration.bodyLimit { return refuse(raw, .bodyTooLarge) }
    return .YES
  }

  /// Whether method and target are what other parsers would read too.
  ///
  /// In libmicrohttpd, strings end at the first NUL, any number of spaces may precede the target, and the target may
  /// contain spaces.
  private func isRequestLineValid(
    _ method: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>
  ) -> Bool {
    guard let target else { return false }
    let name = request.pointee.method
    let bytes = request.pointee.target.bytes
    guard name.isToken, target - method == name.count + 1, bytes.count == version - target - 1,
      bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else { return false }
    // RFC 9112, 3.2: a path, an absolute URL, or the form that belongs to the method.
    if bytes.first == UInt8(ascii: "/") { return true }
    if name.elementsEqual("CONNECT".utf8) { return true }
    if name.elementsEqual("OPTIONS".utf8), bytes.elementsEqual("*".utf8) { return true }
    return String(wire: bytes).contains("://")
  }

  /// nil if the body is chunked or absent.
  private func declaredLength(_ raw: OpaquePointer) -> Int? {
    guard Head.field("Transfer-Encoding", of: raw) == nil, let digits = Head.field("Content-Length", of: raw) else {
      return nil
    }
    // libmicrohttpd has rejected non-numbers; a number that does not fit `Int` is too large in any case.
    return Int(Head.text(digits)) ?? .max
  }

  /// The number of bytes libmicrohttpd has left for a response head: its memory minus the request head, the index of
  /// fields (64 bytes each), and its copy of `Cookie`.
  private func room(_ raw: OpaquePointer) -> Int {
    let cookies = Head.field("Cookie", of: raw).map { $0.count + 64 * $0.count(where: { $0 == 0x3B }) + 128 } ?? 0
    return core.configuration.poolSize - diorama_connection_head_size(raw) - 64 * Head.fieldCount(of: raw) - cookies
  }

  // MARK: The body

  private func bodyBegins(_ raw: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> MHD_Result {
    let length = declaredLength(raw)
    if let length, length > core.configuration.bodyLimit {
      return refuse(raw, .bodyTooLarge, bodyHasBegun: true)
    }
    if let length, length <= Self.collectedLimit {
      request.pointee.body.reserve(length)
      request.pointee.body.append(bytes)
      request.pointee.stage = .collecting
      return .YES
    }
    guard bytes.count <= core.configuration.bodyLimit else {
      return refuse(raw, .bodyTooLarge, bodyHasBegun: true)
    }
    let pipe = BytePipe()
    request.pointee.stage = .uploading
    request.pointee.uploaded = bytes.count
    // The first piece always fits: the pipe is empty.
    _ = pipe.offer(bytes)
    start(raw, body: .stream(pipe, length: length), upload: pipe)
    return .YES
  }

  private func pass(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    let bytes = UnsafeRawBufferPointer(start: upload, count: size.pointee)
    guard let call = request.pointee.call, let pipe = call.upload, !isAbandoned else { return .NO }
    guard request.pointee.uploaded + bytes.count <= core.configuration.bodyLimit else {
      let limit = core.configuration.bodyLimit
      pipe.fail(BodyError("request: the body exceeds \(limit) bytes; raise the server's body limit"))
      call.end(complete: false)
      size.pointee = 0
      return linger(with: .bodyTooLarge)
    }
    while !pipe.offer(bytes) {
      // Leaving `size` unchanged makes libmicrohttpd pass the bytes again after the connection is resumed.
      if park() { return .YES }
      guard !isAbandoned else { return .NO }
    }
    request.pointee.uploaded += bytes.count
    size.pointee = 0
    return .YES
  }

  // MARK: The answer

  /// The request is complete, and its body, if any, has been collected.
  private func serve(_ raw: OpaquePointer) -> MHD_Result {
    let view = RequestView(
      method: request.pointee.method, target: request.pointee.target.bytes, body: request.pointee.body.bytes,
      connection: raw)
    if let prepared = handler.answer(view) {
      return queue(
        raw, prepared.status, prepared.pointer(toHead: request.pointee.isHead), headSize: prepared.headSize)
    }
    request.pointee.stage = .passing
    if let passage = handler.pass(view, to: LateAnswer(self)) {
      request.pointee.passage = passage
      return passed(raw)
    }
    return startCollected(raw)
  }

  private func startCollected(_ raw: OpaquePointer) -> MHD_Result {
    request.pointee.stage = .answering
    start(raw, body: .bytes([UInt8](request.pointee.body.bytes)), upload: nil)
    return answer(raw)
  }

  /// Sends the response of an operation started elsewhere, or waits for it.
  private func passed(_ raw: OpaquePointer) -> MHD_Result {
    while true {
      if let passed = request.pointee.passed.take() {
        defer { MHD_destroy_response(passed.response) }
        return queue(raw, passed.status, passed.response, headSize: passed.headSize)
      }
      if request.pointee.continuation != nil { return startCollected(raw) }
      guard !isAbandoned else { return .NO }
      if park() { return .YES }
    }
  }

  private func start(_ raw: OpaquePointer, body: Body, upload: BytePipe?) {
    let call = HandlerCall(upload: upload) { self.wake() }
    request.pointee.call = call
    begin(call)
    var message = Request(
      method: Head.text(request.pointee.method), target: String(wireTarget: request.pointee.target.bytes),
      headers: Head.fields(of: raw), body: body, connection: token, peer: peer)
    message.responseHeadLimit = room(raw)
    call.start(handler, request.pointee.continuation.take(), message)
  }

  private func answer(_ raw: OpaquePointer) -> MHD_Result {
    guard let call = request.pointee.call else { return .NO }
    while true {
      call.runJobs()
      if let outcome = call.takeOutcome() { return send(raw, outcome, of: call) }
      guard !isAbandoned else { return .NO }
      if park() { return .YES }
    }
  }

  private func send(_ raw: OpaquePointer, _ outcome: Result<Response, any Error>, of call: HandlerCall) -> MHD_Result {
    do {
      let response = try outcome.get()
      if let fault = response.fault {
        if case .stream(let pipe, _) = response.body { pipe.abandon() }
        if fault == .reset { observer?.reset() }
        Socket.break(descriptor, fault)
        if isUnix, fault == .reset {
          // A Unix socket cannot be reset. See ResponseStream.end for why a failed write is needed to clean up.
          Socket.end(descriptor)
          return fail(raw, "")
        }
        // "MHD_NO if the socket must be closed due to a serious error while handling the request"
        return .NO
      }
      if response.upgrade != nil || response.takeover != nil {
        let wire = try WireResponse(headers: response.headers, content: .upgrade)
        if let takeover = response.takeover { call.sends(takeover) }
        if let upgrade = response.upgrade { call.sends { upgrade(DuplexPump.start($0, received: $1)) } }
        return MHD_queue_response(raw, 101, wire.pointer)
      }
      let status = try PreparedResponse.checked(response.status)
      let content = content(of: response, in: call)
      let wire = try WireResponse(headers: response.headers, content: content)
      return queue(raw, status, wire.pointer, headSize: wire.headSize)
    } catch {
      if case .success(let response) = outcome, case .stream(let pipe, _) = response.body { pipe.abandon() }
      return fail(raw, "\(error)")
    }
  }

  private func content(of response: Response, in call: HandlerCall) -> WireResponse.Content {
    let isEmptyByStatus = response.status == 204 || (request.pointee.isConnect && response.status < 300)
    if isEmptyByStatus || response.status == 304 || request.pointee.isHead {
      if case .stream(let pipe, _) = response.body { pipe.abandon() }
      guard !isEmptyByStatus else { return .bytes([]) }
      let given = response.headers["Content-Length"].flatMap { Int($0) }
      return .none(contentLength: given ?? response.body.length.flatMap { $0 == 0 ? nil : $0 })
    }
    switch response.body {
    case .bytes(let bytes): return .bytes(bytes)
    case .file(let file): return .file(file)
    case .stream(let pipe, let length):
      let stream = ResponseStream(
        pipe: pipe, length: length, trailers: response.trailers, endsConnection: length == nil && request.pointee.isOld,
        connection: self)
      call.sends(pipe)
      return .stream(stream)
    }
  }

  private func fail(_ raw: OpaquePointer, _ text: String) -> MHD_Result {
    let failure = Refusal.failure(text)
    guard let wire = try? WireResponse(headers: failure.headers, content: .bytes(failure.body)) else { return .NO }
    return queue(raw, failure.status, wire.pointer, headSize: wire.headSize)
  }

  private func queue(_ raw: OpaquePointer, _ status: UInt32, _ response: OpaquePointer, headSize: Int) -> MHD_Result {
    if core.isDraining.load(ordering: .relaxed) || core.isCrowded.load(ordering: .relaxed) {
      _ = diorama_connection_close_after_answer(raw)
    }
    // libmicrohttpd closes the connection silently if a head does not fit; send an error instead.
    if headSize > 1024, headSize > room(raw) {
      return fail(raw, "the response head has about \(headSize) bytes; raise the server's header limit")
    }
    return MHD_queue_response(raw, status, response)
  }

  // MARK: Refusals

  /// Rejects a request whose end is uncertain, and closes the connection.
  private func refuseFraming(_ raw: OpaquePointer, _ refusal: Refusal) -> MHD_Result {
    _ = diorama_connection_close_after_answer(raw)
    return refuse(raw, refusal)
  }

  /// Sends an error without reading the rest of the request, and closes the connection.
  private func refuse(_ raw: OpaquePointer, _ refusal: Refusal, bodyHasBegun: Bool = false) -> MHD_Result {
    let hasBody = Head.field("Transfer-Encoding", of: raw) != nil || (declaredLength(raw) ?? 0) > 0
    // libmicrohttpd can respond only before the body has begun; a client that waits for a 100 has sent no body.
    let canAnswer = !bodyHasBegun && (!hasBody || Head.field("Expect", of: raw) != nil)
    guard canAnswer, let wire = try? WireResponse(headers: refusal.headers, content: .bytes(refusal.body))
    else {
      return linger(with: refusal)
    }
    return MHD_queue_response(raw, refusal.status, wire.pointer)
  }

  /// Sends an error while the body arrives, which libmicrohttpd cannot do.
  ///
  /// Closing at once would make the client's system drop the unread response, so the rest of the body is read and
  /// dropped for a while first.
  private func linger(with refusal: Refusal) -> MHD_Result {
    refusal.send(to: descriptor)
    request.pointee.stage = .lingering
    waitingSince.store(Clock.milliseconds(), ordering: .sequentiallyConsistent)
    return .YES
  }
}
