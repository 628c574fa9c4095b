import Basics
import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import LocalHTTP

#if os(Linux)
  import Glibc
  import Interception

  /// An environment in another process, which an isolated command enters.
  ///
  /// Each connection of the command becomes an upgraded connection to the environment's main port. DNS is answered here.
  /// A thread follows the environment's clock, and learns of its end.
  final class EnteredEnvironment: IsolatingEnvironment {
    private struct State {
      var follower: (@Sendable (Environment.ClockReading) -> Void)?
      var reading: Environment.ClockReading
      /// Why the environment cannot be used any more.
      var end: String?
      var isStopping = false
      /// Remarks for the user.
      var notes: [String] = []
    }

    /// The time for an answer.
    private static let patience = Duration.seconds(30)
    /// The seconds that the environment may hold a poll.
    private static let wait = 25

    let plan: IsolationPlan
    private let id: String
    /// The command, for the report.
    private let command: String
    private let control: ControlPort
    private let server: HTTPServer
    private let interceptor: Interceptor
    private let problems = ReportedProblems()
    private let state: Guarded<State>

    /// Asks the environment how to isolate a command.
    ///
    /// - Parameters:
    ///   - id: the environment's ID, for messages.
    ///   - command: the words of the command.
    ///   - control: how to reach it.
    /// - Throws: a ``CodedError`` if it cannot be reached, or is not for isolated commands.
    init(_ id: String, for command: [String], _ control: LaunchContract.Control) throws(CodedError) {
      self.id = id
      self.command = String(command.map(ShellWord.quoted).joined(separator: " ").prefix(200))
      let port = try ControlPort(control)
      self.control = port
      let response: HTTPResponse
      do { response = try port.call("GET", "/isolation", by: .now + Self.patience) } catch {
        throw CodedError(
          .noUpstream,
          "environment \(id) does not respond at \(control.url): \(error.problem); it has ended, or its daemon or test "
            + "has exited")
      }
      guard response.status == 200 else {
        throw CodedError(response.status == 409 ? .usage : .noUpstream, "environment \(id): \(response.detail)")
      }
      let plan = try JSON.decode(
        IsolationPlan.self, from: Data(response.body), source: "the answer of environment \(id)")
      self.plan = plan
      state = Guarded(State(reading: .init(plan.clock)))
      server = try CodedError.translating(to: .inputOutput, try HTTPServer(.init()))
      let tunnel = Tunnel(to: RelayTarget(host: "127.0.0.1", port: port.port)) { port.tunnelRequest($0) }
      interceptor = try Interceptor(
        server: server, authority: nil, delegate: problems, configuration: .init(tunnel: tunnel))
    }

    /// Why the environment cannot be used any more; nil if it can.
    var end: String? { state.withLock { $0.end } }

    /// Remarks for the user, one line each.
    var notes: [String] { state.withLock { $0.notes } }

    /// Begins to follow the environment.
    ///
    /// - Parameter ended: called once on a thread of its own when the environment has ended or does not respond.
    func start(ended: @escaping @Sendable () -> Void) {
      Thread.detachNewThread { [self] in
        let end = follow()
        guard !state.withLock({ $0.isStopping }) else { return }
        state.withLock { $0.end = end }
        ended()
      }
    }

    // MARK: IsolatingEnvironment

    func intercept(
      _ listener: Int32, nameServers: [Int32], destination: @escaping @Sendable (Int32) -> Destination?
    ) throws(CodedError) {
      try interceptor.start(listener: listener, nameServers: nameServers, destination: destination)
    }

    func note(_ note: IsolationNote) {
      if let kind = note.kind, let reason = note.reason { report("isolated by \(kind) only: \(reason)") }
      var note = note
      if note.kind != nil { note.entering = command }
      send(note)
    }

    func followClock(_ follower: @escaping @Sendable (Environment.ClockReading) -> Void) {
      state.withLock { state in
        state.follower = follower
        follower(state.reading)
      }
    }

    func stop() async {
      await interceptor.stop()
      await server.stop(grace: .zero)
      state.withLock { $0.isStopping = true }
      let lines = problems.lines.withLock { $0 }
      var note = IsolationNote(problems: lines)
      note.leaving = command
      send(note)
    }

    private func send(_ note: IsolationNote) {
      guard end == nil else { return }
      do {
        let response = try control.call(
          "POST", "/isolation", [UInt8](JSON.encode(note)), by: .now + Self.patience)
        if response.status != 204 {
          report("environment \(id) did not accept a note for its report: \(response.detail)")
        }
      } catch {
        report("environment \(id) did not accept a note for its report: \(error)")
      }
    }

    private func report(_ line: String) { state.withLock { $0.notes.append(line) } }

    // MARK: Following

    /// Follows the environment.
    ///
    /// - Returns: why it cannot be followed any more.
    private func follow() -> String {
      let follower = "enter-\(getpid())"
      var revision = plan.revision
      var seconds = 0
      while true {
        let path = "/state?after=\(revision)&wait=\(seconds)&follower=\(follower)"
        do throws(CodedError) {
          let response = try control.call("GET", path, by: .now + .seconds(seconds) + Self.patience)
          if response.status == 429 {
            // Too many wait; the next answer comes at once.
            seconds = 0
            Thread.sleep(forTimeInterval: 1)
            continue
          }
          guard response.status == 200 else { return "environment \(id): \(response.detail)" }
          let news = try JSON.decode(LiveState.self, from: Data(response.body), source: path)
          if news.over { return "environment \(id) has ended" }
          if news.revision > revision, let clock = news.clock {
            revision = news.revision
            state.withLock { state in
              state.reading = .init(clock)
              state.follower?(state.reading)
            }
            let message = Acknowledgement(follower: follower, revision: revision, now: clock.now)
            _ = try control.call("POST", "/acknowledge", [UInt8](encoded(message)), by: .now + Self.patience)
          }
          seconds = Self.wait
        } catch {
          return "environment \(id) does not respond any more (\(error.problem)): its daemon or test has exited"
        }
      }
    }

    private func encoded(_ message: Acknowledgement) throws(CodedError) -> Data {
      do { return try JSON.encode(message) } catch { throw CodedError(.broken, "\(error)") }
    }
  }

  /// The control API on an environment's main port.
  private struct ControlPort: Sendable {
    let port: UInt16
    private let path: String
    private let token: Secret

    init(_ control: LaunchContract.Control) throws(CodedError) {
      guard let components = URLComponents(string: control.url), components.scheme == "http",
        components.host == "127.0.0.1", let port = components.port.flatMap(UInt16.init(exactly:)),
        !control.token.revealed.utf8.contains(where: { $0 < 0x21 || $0 == 0x7F })
      else {
        throw CodedError(
          .usage,
          "'\(control.url)' is not the URL of an environment, such as http://127.0.0.1:20011/__diorama; "
            + "unset DIORAMA_CONTROL, or set it as 'diorama env create --shell' does")
      }
      self.port = port
      path = components.percentEncodedPath
      token = control.token
    }

    private func head(_ method: String, _ path: String, _ fields: String) -> [UInt8] {
      Array(
        ("\(method) \(self.path)\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token.revealed)\r\n"
          + fields + "\r\n").utf8)
    }

    func call(
      _ method: String, _ path: String, _ body: [UInt8] = [], by deadline: ContinuousClock.Instant
    ) throws(CodedError) -> HTTPResponse {
      let type = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
      let socket = try LocalSocket(to: .loopback(in_addr(s_addr: INADDR_LOOPBACK.bigEndian), port: port), by: deadline)
      try socket.send(head(method, path, type + "Connection: close\r\n") + body, by: deadline)
      return try socket.receiveResponse(by: deadline)
    }

    /// The request that makes a connection one of the command.
    func tunnelRequest(_ destination: Destination) -> [UInt8] {
      var query = "proxy=true"
      if !destination.isProxy {
        query = "address=\(destination.address)&port=\(destination.port)"
        if let name = destination.name { query += "&name=\(name)" }
      }
      return head("GET", "/tunnel?\(query)", "Connection: Upgrade\r\nUpgrade: diorama-tunnel\r\n")
    }
  }

  /// What goes wrong with the command's connections on this side.
  private final class ReportedProblems: InterceptionDelegate {
    private struct Closed: RequestHandler {
      func respond(to request: Request) async throws -> Response { Response(status: 500) }
    }

    let lines = Guarded<[String]>([])

    /// Never called, since all connections are passed on.
    func handler(for destination: Destination) -> any RequestHandler { Closed() }

    func noticed(_ event: InterceptionEvent) {
      let line: String
      switch event {
      case .relayFailed(let destination, let cause): line = "\(destination) was not reached: \(cause)"
      case .nameTableFull(let name):
        line = "\(name) was not resolved: the command has looked up too many names; have it use fewer"
      case .failed(let text): line = text
      default: return
      }
      lines.withLock { lines in
        if lines.count < 100, !lines.contains(line) { lines.append(line) }
      }
    }
  }

  extension HTTPResponse {
    /// The reason for a refusal, on one line.
    fileprivate var detail: String {
      let problem = try? JSON.parse(body)
      return (problem?["detail"]?.string ?? problem?["title"]?.string ?? "status \(status)").escapedForTerminal
    }
  }

  extension Environment.ClockReading {
    fileprivate init(_ reading: LiveState.ClockReading) {
      self.init(
        kind: reading.clock.kind, rate: reading.clock.rate, date: RFC3339.parse(reading.now) ?? Date())
    }
  }
#endif
