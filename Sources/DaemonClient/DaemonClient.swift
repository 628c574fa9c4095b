import ControlAPI
import Foundation
import HTTPClient
import HTTPMessages
import LaunchContract

/// A daemon, as another program sees it: every call of its control API, by the messages of `ControlAPI`.
///
/// It goes through the daemon's Unix socket, and through its loopback port where the socket's path is longer than the
/// system takes. A daemon that was restarted is found again.
///
/// ```swift
/// let client = try await DaemonClient.connect(to: .standard(variables: ProcessInfo.processInfo.environment))
/// let environment = try await client.provision(request)
/// ```
package final class DaemonClient: Sendable {
  /// How the daemon is reached, as long as it stays where it is.
  private struct Link: Sendable {
    var control: ControlFile
    var origin: Origin
    var client: HTTPClient
  }

  /// How long an answer may take by itself, in a daemon that has much to do.
  package static let patience = Duration.seconds(30)
  /// The most bytes of an answer: a report has at most what the daemon keeps of a journal.
  private static let answerLimit = 64 << 20
  /// The longest path that fits into an address, with its closing zero.
  private static let longestSocketPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Where the daemon is found.
  package let home: DaemonHome
  private let link: Guarded<Link>

  private init(home: DaemonHome, control: ControlFile) throws(DaemonClientError) {
    self.home = home
    link = Guarded(try Self.link(control, home))
  }

  /// Finds the daemon of a state folder, and sees that it answers.
  ///
  /// - Parameter home: the state folder.
  /// - Returns: the client.
  /// - Throws: ``DaemonClientError``: there is none, it is dead or suspended, or it is no daemon of ours.
  package static func connect(to home: DaemonHome) async throws(DaemonClientError) -> DaemonClient {
    if try home.readControlFile() == nil { await wake(home) }
    guard let control = try home.readControlFile() else { throw home.nobody }
    let client = try DaemonClient(home: home, control: control)
    _ = try await client.health()
    return client
  }

  /// Knocks where somebody may wait in a daemon's place, to start it at the first connection (systemd.socket(5)).
  ///
  /// Until then there is no control file; once the daemon answers there is.
  private static func wake(_ home: DaemonHome) async {
    let socket = home.folder + "/control.sock"
    guard access(socket, F_OK) == 0 else { return }
    let control = ControlFile(control: "http://127.0.0.1", socket: socket, token: Secret(""), pid: 0)
    guard let link = try? link(control, home) else { return }
    _ = try? await attempt("GET", "/v1/health", nil, link, home, patience)
  }

  /// The daemon's process.
  package var pid: Int32 { link.withLock { $0.control.pid } }

  // MARK: Calls

  /// Calls something whose answer is JSON.
  func call<Answer: Decodable & Sendable>(
    _ method: String, _ path: String, sending message: (any Encodable & Sendable)? = nil,
    patience: Duration = DaemonClient.patience, as type: Answer.Type = Answer.self
  ) async throws(DaemonClientError) -> Answer {
    let bytes = try await exchange(method, path, message, patience)
    do throws(ContractError) {
      return try ContractJSON.decode(type, from: Data(bytes), source: "\(method) \(path)")
    } catch {
      throw DaemonClientError(
        .notUnderstood,
        "the daemon's answer to \(error.source) is not what it should be: \(error.problem); "
          + "restart it with this version: diorama serve --stop")
    }
  }

  /// Calls something whose answer says nothing more.
  func call(
    _ method: String, _ path: String, sending message: (any Encodable & Sendable)? = nil
  ) async throws(DaemonClientError) {
    _ = try await exchange(method, path, message, Self.patience)
  }

  private func exchange(
    _ method: String, _ path: String, _ message: (any Encodable & Sendable)?, _ patience: Duration
  ) async throws(DaemonClientError) -> [UInt8] {
    var body: [UInt8]?
    do {
      body = try message.map { Array(try ContractJSON.encode($0)) }
    } catch {
      throw DaemonClientError(
        .refused(status: 400, problem: "usage"),
        "a number is infinite or none at all, which JSON cannot say; give another")
    }
    let first = link.withLock { $0 }
    do throws(DaemonClientError) {
      return try await Self.attempt(method, path, body, first, home, patience)
    } catch {
      // Nothing has been done: it did not get the request, or did not know us.
      guard error.kind == .dead || error.isUnauthorised, let again = try renewed(first) else { throw error }
      return try await Self.attempt(method, path, body, again, home, patience)
    }
  }

  /// Takes up with a daemon that was started again.
  ///
  /// - Returns: nil where it is still the one that was asked.
  private func renewed(_ old: Link) throws(DaemonClientError) -> Link? {
    guard let control = try home.readControlFile(), control != old.control else { return nil }
    let new = try Self.link(control, home)
    link.withLock { $0 = new }
    return new
  }

  private static func attempt(
    _ method: String, _ path: String, _ body: [UInt8]?, _ link: Link, _ home: DaemonHome, _ patience: Duration
  ) async throws(DaemonClientError) -> [UInt8] {
    var headers: Headers = ["Authorization": "Bearer \(link.control.token.revealed)", "Accept": "application/json"]
    if body != nil { headers.set("Content-Type", "application/json") }
    let request = Request(method: method, target: path, headers: headers, body: .bytes(body ?? []))
    let answer: Result<(status: Int, bytes: [UInt8]), Watch.Missed>
    do {
      answer = try await Watch.over(link.control.pid, patience: patience) {
        let response = try await link.client.send(request, to: link.origin)
        return (response.status, try await response.body.collect(upTo: answerLimit))
      }
    } catch {
      throw home.failure(error, link.control)
    }
    switch answer {
    case .success((200..<300, let bytes)): return bytes
    case .success((let status, let bytes)): throw refusal(status, bytes, "\(method) \(path)")
    case .failure(let missed) where missed.verdict == .suspended: throw home.suspended(link.control)
    case .failure: throw home.unresponsive(link.control, patience)
    }
  }

  private static func refusal(_ status: Int, _ bytes: [UInt8], _ what: String) -> DaemonClientError {
    guard let problem = try? JSONDecoder().decode(ProblemDocument.self, from: Data(bytes)) else {
      return DaemonClientError(
        .notUnderstood,
        "\(what) was answered with status \(status) and no word of why; see whether it is a daemon of "
          + "diorama that answers there")
    }
    return DaemonClientError(
      .refused(status: status, problem: problem.kind), problem.detail.isEmpty ? problem.title : problem.detail)
  }

  private static func link(_ control: ControlFile, _ home: DaemonHome) throws(DaemonClientError) -> Link {
    do {
      let origin = try Origin(parsing: control.control)
      let fits = !control.socket.isEmpty && control.socket.utf8.count <= longestSocketPath
      // No variable of ours is to send it to a proxy; how long a call may take is our own business.
      let client = try HTTPClient(
        .init(stallSeconds: 1e6, environment: [:], unixSocket: fits ? control.socket : nil))
      return Link(control: control, origin: origin, client: client)
    } catch {
      throw DaemonClientError(.unusable, "the daemon of \(home.folder) cannot be reached: \(error)")
    }
  }
}

extension DaemonClientError {
  fileprivate var isUnauthorised: Bool {
    if case .refused(status: 401, _) = kind { true } else { false }
  }
}
