import CMicroHTTPD
import EventLoops
package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An operation started by ``RequestHandler/pass(_:to:)``.
package protocol Passage: AnyObject {
  /// The response is no longer needed.
  func cancel()
}

/// Receives the response to a request that ``RequestHandler/pass(_:to:)`` accepted.
///
/// Used on the connection's thread only, so it needs no lock, no task and no other thread.
package struct LateAnswer: @unchecked Sendable {
  private let connection: Connection
  private let number: Int

  init(_ connection: Connection) {
    self.connection = connection
    number = connection.request.pointee.number
  }

  /// Sends the response, unless the request has ended.
  package func send(_ response: consuming RawAnswer) {
    guard let pointer = response.take() else { return }
    guard isAwaited else { return MHD_destroy_response(pointer) }
    connection.request.pointee.passage = nil
    connection.request.pointee.passed = .init(status: response.status, response: pointer, headSize: response.headSize)
    connection.wake()
  }

  /// Handles the request as ``RequestHandler/respond(to:)`` would.
  ///
  /// - Parameter work: receives the request and returns the response.
  package func respond(_ work: @escaping @Sendable (Request) async throws -> Response) {
    guard isAwaited else { return }
    connection.request.pointee.passage = nil
    connection.request.pointee.continuation = work
    connection.wake()
  }

  /// Whether the request is still waiting.
  package var isAwaited: Bool {
    assert(EventLoop.current === connection.place.loop)
    return connection.request.pointee.number == number && connection.request.pointee.stage == .passing
  }
}

/// A response built from raw bytes, without `String`.
package struct RawAnswer: ~Copyable {
  private var pointer: OpaquePointer?
  let status: UInt32
  /// An upper bound for the size of the head in bytes.
  private(set) var headSize = Headers().responseHeadSize

  /// Creates a response; nil if memory is exhausted.
  ///
  /// - Parameters:
  ///   - status: 200 to 999.
  ///   - body: allocated by `malloc`; freed with the response, or at once if this returns nil.
  ///   - count: the number of bytes in the body.
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
  ///   - name: a null-terminated token.
  ///   - value: visible ASCII, spaces and tabs, null-terminated.
  ///   - size: the number of bytes in the value.
  package mutating func add(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>, size: Int) {
    headSize += strlen(name) + size + 5
    // libmicrohttpd rejects empty values; white space around a value is not part of it (RFC 9110, 5.5).
    if value.pointee == 0 {
      _ = MHD_add_response_header(pointer, name, " ")
    } else {
      _ = MHD_add_response_header(pointer, name, value)
    }
  }

  fileprivate mutating func take() -> OpaquePointer? { pointer.take() }
}
