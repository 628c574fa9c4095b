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
  ///   - url: the environment's control URL, such as `http://127.0.0.1:20011/__diorama`; an IPv4 address or localhost.
  /// - Returns: the status and the body of the answer.
  /// - Throws: a `CodedError` if the environment cannot be reached.
  package static func call(
    _ method: String, _ path: String, _ body: [UInt8] = [], at url: String
  ) async throws(CodedError) -> (status: Int, body: [UInt8]) {
    var address = in_addr()
    guard let components = URLComponents(string: url), let host = components.host,
      let port = components.port.flatMap(UInt16.init(exactly:)), inet_pton(AF_INET, host, &address) == 1
    else {
      throw CodedError(
        .noUpstream,
        "'\(url)' is not a URL with an IPv4 address; start the daemon with --advertise and an address, or call the "
          + "environment's /__admin directly")
    }
    let head =
      "\(method) /__admin\(path) HTTP/1.1\r\nHost: \(host):\(port)\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    let deadline = ContinuousClock.now + patience
    let request = Array(head.utf8) + body
    let target = address
    // On its own thread: some responses arrive only after an event.
    let result = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          returning: Result { () throws(CodedError) in
            let socket = try LocalSocket(
              to: .loopback(target, port: port), by: deadline)
            try socket.send(request, by: deadline)
            return try socket.receiveResponse(by: deadline)
          })
      }
    }
    let response = try result.get()
    return (response.status, response.body)
  }
}
