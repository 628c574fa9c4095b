import Basics
import Foundation
import LaunchContract

#if canImport(HTTPClient)
  import HTTPClient
  import HTTPMessages
#endif

/// Makes calls to a daemon on another machine, by TLS.
///
/// It uses libcurl where this process can host environments itself, and is not available elsewhere, where no C library
/// may be linked.
final class RemoteTransport: Sendable {
  let daemon: RemoteDaemon
  /// The maximum size of a response in bytes.
  private let limit: Int

  #if canImport(HTTPClient)
    private let client: HTTPClient
    private let origin: Origin

    init(_ daemon: RemoteDaemon, answerLimit: Int) throws(DaemonClientError) {
      self.daemon = daemon
      limit = answerLimit
      do {
        // How long to wait is decided for each call.
        client = try HTTPClient(.init(stallSeconds: 86_400))
        origin = try Origin(parsing: daemon.url)
      } catch {
        throw daemon.unreachable("\(error)")
      }
    }

    deinit { client.shutdown() }

    /// Sends a request.
    ///
    /// - Returns: the status and the body of the response.
    /// - Throws: ``DaemonClientError``.
    func send(
      _ method: String, _ path: String, _ body: [UInt8]?, patience: Duration
    ) async throws(DaemonClientError) -> (status: Int, body: [UInt8]) {
      var headers: Headers = ["Authorization": "Bearer \(daemon.token.revealed)", "Accept": "application/json"]
      if body != nil { headers.append("Content-Type", "application/json") }
      let request = Request(method: method, target: path, headers: headers, body: .bytes(body ?? []))
      do {
        let (client, origin, trust, limit) = (client, origin, trust, limit)
        // There are two tasks, so `next` is not nil.
        let answer = try await withThrowingTaskGroup(of: (Int, [UInt8])?.self) { group in
          group.addTask {
            let response = try await client.send(request, to: origin, trust: trust)
            return (response.status, try await response.body.collect(upTo: limit))
          }
          group.addTask {
            try await Task.sleep(for: patience)
            return nil
          }
          defer { group.cancelAll() }
          return try await group.next() ?? nil
        }
        guard let answer else { throw daemon.unresponsive(patience) }
        return (answer.0, answer.1)
      } catch let error as DaemonClientError {
        throw error
      } catch let error as UpstreamError {
        throw error.kind == .tls ? daemon.untrusted(Self.reason(error.message)) : daemon.unreachable(error.message)
      } catch {
        throw daemon.unreachable(error is CancellationError ? "the wait was cancelled" : "\(error)")
      }
    }

    /// What libcurl says, without the advice for upstreams.
    private static func reason(_ message: String) -> String {
      guard let start = message.firstRange(of: " ("), let end = message.ranges(of: "): ").last,
        start.upperBound <= end.lowerBound
      else { return message }
      return String(message[start.upperBound..<end.lowerBound])
    }

    private var trust: Trust {
      switch daemon.trust {
      case .system: .usual
      case .authorities(let path): Trust(authorities: path)
      case .publicKey(let digest): Trust(isInsecure: true, pinnedKey: "sha256//" + Base64.encode(digest))
      }
    }
  #else
    init(_ daemon: RemoteDaemon, answerLimit: Int) throws(DaemonClientError) {
      throw DaemonClientError(
        .unusable,
        "DIORAMA_DAEMON is '\(daemon.url)', but this program is built without a client for https; run the tests where they "
          + "can host environments, or use a daemon on this machine")
    }

    func send(
      _ method: String, _ path: String, _ body: [UInt8]?, patience: Duration
    ) async throws(DaemonClientError) -> (status: Int, body: [UInt8]) { throw daemon.unreachable("no https") }
  #endif
}
