package import Basics
import Foundation
import LocalHTTP

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Calls the admin API of an environment's mock backend, on its main port.
package enum AdminClient {
  /// The time limit for a response.
  private static let patience = Duration.seconds(60)

  /// Makes a call.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path below `/__admin`.
  ///   - body: JSON; may be empty.
  ///   - port: the environment's main port.
  /// - Returns: the status and the body of the answer.
  /// - Throws: a `CodedError` if the environment cannot be reached.
  package static func call(
    _ method: String, _ path: String, _ body: [UInt8] = [], port: UInt16
  ) async throws(CodedError) -> (status: Int, body: [UInt8]) {
    let head =
      "\(method) /__admin\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    let deadline = ContinuousClock.now + patience
    let request = Array(head.utf8) + body
    // On its own thread: some responses arrive only after an event.
    let result = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          returning: Result { () throws(CodedError) in
            let socket = try LocalSocket(
              to: .loopback(in_addr(s_addr: INADDR_LOOPBACK.bigEndian), port: port), by: deadline)
            try socket.send(request, by: deadline)
            return try socket.receiveResponse(by: deadline)
          })
      }
    }
    let response = try result.get()
    return (response.status, response.body)
  }
}
