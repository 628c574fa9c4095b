import CMicroHTTPD
import HTTPMessages

/// The request that a connection reads or answers.
///
/// Its memory is used again for the next one.
struct RequestState {
  /// What libmicrohttpd's next call means.
  enum Stage {
    /// Nothing is known yet but the target.
    case head
    /// The head has come; now the first of the body, or the end.
    case body
    /// The body is collected for the handler.
    case collecting
    /// The body goes through a pipe to the handler.
    case uploading
    /// Somebody else is asked for the answer.
    case passing
    /// The handler has all of the request; its answer is due.
    case answering
    /// An answer has been sent past libmicrohttpd; what still comes is dropped until the client has seen it.
    case lingering
  }

  var stage = Stage.head
  var isHead = false
  /// HTTP/1.0, which knows no chunks.
  var isOld = false
  var method = UnsafeRawBufferPointer(start: nil, count: 0)
  var target = Buffer()
  var body = Buffer()
  /// Bytes of an upload so far.
  var uploaded = 0
  var exchange: Exchange?
  /// Tells this request from others of the same connection.
  private(set) var number = 0
  /// What has been begun for it elsewhere, and what that has come to: an answer, or work that makes one.
  var passage: (any Passage)?
  var passed: PassedAnswer?
  var continuation: (@Sendable (Request) async throws -> Response)?

  /// An answer in libmicrohttpd's form; who takes it out owns its reference.
  struct PassedAnswer {
    let status: UInt32
    let response: OpaquePointer
    let headSize: Int
  }

  var isConnect: Bool { method.elementsEqual("CONNECT".utf8) }

  mutating func reset() {
    stage = .head
    uploaded = 0
    if exchange != nil { exchange = nil }
    endPassage()
    number += 1
    target.empty()
    body.empty()
  }

  /// Who was asked need not answer any more.
  private mutating func endPassage() {
    if let passage = passage.take() { passage.cancel() }
    if let passed = passed.take() { MHD_destroy_response(passed.response) }
    if continuation != nil { continuation = nil }
  }

  mutating func release() {
    exchange = nil
    endPassage()
    number += 1
    target.release()
    body.release()
  }

  /// Bytes whose memory stays for the next use, unless they were many.
  struct Buffer {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory.baseAddress, count: count) }

    /// Makes room, so that this many bytes can be appended without another allocation.
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
