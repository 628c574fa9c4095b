import CMicroHTTPD
import HTTPMessages

/// The request that a connection is reading or answering. Its memory is reused for the next one.
struct RequestState {
  /// Determines how to interpret libmicrohttpd's next call.
  enum Stage {
    /// Only the target is known.
    case head
    /// The head is complete; the body or the end of the request follows.
    case body
    /// The body is being collected for the handler.
    case collecting
    /// The body is being streamed to the handler.
    case uploading
    /// The response comes from an operation started by ``RequestHandler/pass(_:to:)``.
    case passing
    /// The request is complete; waiting for the handler's response.
    case answering
    /// A response has been sent past libmicrohttpd; further bytes are dropped until the client has seen it.
    case lingering
  }

  var stage = Stage.head
  var isHead = false
  /// HTTP/1.0, which has no chunks.
  var isOld = false
  var method = UnsafeRawBufferPointer(start: nil, count: 0)
  var target = Buffer()
  var body = Buffer()
  /// The number of body bytes received so far.
  var uploaded = 0
  var call: HandlerCall?
  /// Distinguishes the requests of one connection.
  private(set) var number = 0
  /// The operation started elsewhere, and its result: a response, or work that produces one.
  var passage: (any Passage)?
  var passed: PassedAnswer?
  var continuation: (@Sendable (Request) async throws -> Response)?

  /// A response in libmicrohttpd's form; the code that takes it out owns the reference.
  struct PassedAnswer {
    let status: UInt32
    let response: OpaquePointer
    let headSize: Int
  }

  var isConnect: Bool { method.elementsEqual("CONNECT".utf8) }

  mutating func reset() {
    stage = .head
    uploaded = 0
    if call != nil { call = nil }
    endPassage()
    number += 1
    target.empty()
    body.empty()
  }

  /// Cancels the operation; its result is no longer needed.
  private mutating func endPassage() {
    if let passage = passage.take() { passage.cancel() }
    if let passed = passed.take() { MHD_destroy_response(passed.response) }
    if continuation != nil { continuation = nil }
  }

  mutating func release() {
    call = nil
    endPassage()
    number += 1
    target.release()
    body.release()
  }

  /// A buffer that keeps its memory for the next use, unless it grew large.
  struct Buffer {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory.baseAddress, count: count) }

    /// Reserves memory for this many bytes.
    mutating func reserve(_ capacity: Int) {
      guard memory.count < capacity else { return }
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(256, capacity), alignment: 16)
      larger.copyMemory(from: bytes)
      memory.deallocate()
      memory = larger
    }

    mutating func append(_ source: UnsafeRawBufferPointer) {
      reserve(count + source.count)
      UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: source)
      count += source.count
    }

    mutating func empty() {
      count = 0
      if memory.count > 4096 { release() }
    }

    mutating func release() {
      memory.deallocate()
      memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      count = 0
    }
  }
}
