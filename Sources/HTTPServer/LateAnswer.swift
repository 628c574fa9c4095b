import CMicroHTTPD
import EventLoops
package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a request waits for that ``RequestHandler/pass(_:to:)`` has taken.
package protocol Passage: AnyObject {
  /// Nobody waits for the answer any more.
  func cancel()
}

/// Where the answer goes that ``RequestHandler/pass(_:to:)`` gets from somebody else.
///
/// All of it happens on the thread of the connection: it costs no lock, no task and no other thread.
package struct LateAnswer: @unchecked Sendable {
  private let connection: Connection
  private let number: Int

  init(_ connection: Connection) {
    self.connection = connection
    number = connection.request.pointee.number
  }

  /// Sends the answer, unless its request is over.
  package func send(_ response: consuming RawAnswer) {
    guard let pointer = response.take() else { return }
    guard isAwaited else { return MHD_destroy_response(pointer) }
    connection.request.pointee.passage = nil
    connection.request.pointee.passed = .init(status: response.status, response: pointer, headSize: response.headSize)
    connection.wake()
  }

  /// Goes on as with any other request.
  ///
  /// - Parameter work: gets the request, and does what ``RequestHandler/respond(to:)`` would do.
  package func respond(_ work: @escaping @Sendable (Request) async throws -> Response) {
    guard isAwaited else { return }
    connection.request.pointee.passage = nil
    connection.request.pointee.continuation = work
    connection.wake()
  }

  /// Whether the request is still there.
  package var isAwaited: Bool {
    assert(EventLoop.current === connection.place.loop)
    return connection.request.pointee.number == number && connection.request.pointee.stage == .passing
  }
}

/// An answer that is put together from bytes as they came, without a `String`.
package struct RawAnswer: ~Copyable {
  private var pointer: OpaquePointer?
  let status: UInt32
  /// The most bytes that its head takes.
  private(set) var headSize = Headers().responseHeadSize

  /// Begins one; nil where there is no memory.
  ///
  /// - Parameters:
  ///   - status: 200 to 999.
  ///   - body: got by `malloc`; it is freed with the answer, or at once where there is none.
  ///   - count: its bytes.
  package init?(status: Int, body: UnsafeMutableRawPointer?, count: Int) {
    guard 200...999 ~= status,
      let pointer = MHD_create_response_from_buffer(count, body, body == nil ? .RESPMEM_PERSISTENT : .RESPMEM_MUST_FREE)
    else {
      body?.deallocate()
      return nil
    }
    self.status = UInt32(status)
    self.pointer = pointer
  }

  deinit {
    if let pointer { MHD_destroy_response(pointer) }
  }

  /// Adds a field.
  ///
  /// - Parameters:
  ///   - name: a token that ends with a null byte.
  ///   - value: visible ASCII, spaces and tabs; ends with a null byte, too.
  ///   - size: bytes of the value.
  package mutating func add(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>, size: Int) {
    headSize += strlen(name) + size + 5
    // libmicrohttpd refuses an empty value; white space around a value is none of it (RFC 9110, 5.5).
    if value.pointee == 0 {
      _ = MHD_add_response_header(pointer, name, " ")
    } else {
      _ = MHD_add_response_header(pointer, name, value)
    }
  }

  fileprivate mutating func take() -> OpaquePointer? { pointer.take() }
}
