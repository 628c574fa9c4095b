#if DEBUG || Controlled
  import Basics
  import Foundation
  import LaunchContract
  import LocalHTTP

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// The address of an environment's control API, and the head of requests to it.
  struct ControlAddress: Sendable {
    /// The URL in the contract, for messages.
    let url: String
    /// Whether the environment responds, shared by all connections to this address.
    let presence: EnvironmentPresence
    private let authority: String
    private let basePath: String
    private let address: in_addr
    private let port: UInt16
    private let token: Secret

    /// - Parameters:
    ///   - control: the contract's `control`.
    ///   - patience: timeouts for an environment that does not respond.
    /// - Throws: ``DioramaError`` of kind `contract` unless the URL is `http` with an IPv4 loopback address.
    init(_ control: LaunchContract.Control, patience: Patience = Patience()) throws(DioramaError) {
      guard let components = URLComponents(string: control.url), components.scheme == "http",
        let host = components.host, let address = Self.loopback(host),
        let port = UInt16(exactly: components.port ?? 80), port > 0
      else {
        throw DioramaError(
          .contract,
          "launch contract: control.url: '\(control.url)' is not a URL such as http://127.0.0.1:20011/__diorama")
      }
      guard !control.token.revealed.utf8.contains(where: { $0 < 0x21 || $0 == 0x7F }) else {
        throw DioramaError(.contract, "launch contract: control.token must not contain spaces or control characters")
      }
      url = control.url
      presence = EnvironmentPresence(patience)
      authority = "\(host):\(port)"
      var path = components.percentEncodedPath
      while path.hasSuffix("/") { path.removeLast() }
      basePath = path
      self.address = address
      self.port = port
      token = control.token
    }

    /// The bytes of a request.
    ///
    /// - Parameters:
    ///   - method: the method, such as `POST`.
    ///   - path: the path below the control URL, with the query.
    ///   - body: JSON, if any.
    /// - Returns: the head and body.
    func request(_ method: String, _ path: String, body: [UInt8]? = nil) -> [UInt8] {
      var lines = [
        "\(method) \(basePath)\(path) HTTP/1.1", "Host: \(authority)", "Authorization: Bearer \(token.revealed)",
      ]
      if let body { lines += ["Content-Type: application/json", "Content-Length: \(body.count)"] }
      lines += ["", ""]
      return Array(lines.joined(separator: "\r\n").utf8) + (body ?? [])
    }

    func connect(by deadline: ContinuousClock.Instant) throws(CodedError) -> LocalSocket {
      try LocalSocket(to: .loopback(address, port: port), by: deadline)
    }

    private static func loopback(_ host: String) -> in_addr? {
      var address = in_addr()
      guard inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &address) == 1,
        UInt32(bigEndian: address.s_addr) >> 24 == 127
      else { return nil }
      return address
    }
  }

  extension HTTPResponse {
    /// The reason for a refusal, on one line.
    var refusal: String {
      struct Problem: Decodable {
        var title: String?
        var detail: String?
      }
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(body))
      let text = String(decoding: body.prefix(200), as: UTF8.self)
      let firstLine = text.split(whereSeparator: \.isNewline).first.map(String.init)
      return "status \(status): \(problem?.detail ?? problem?.title ?? firstLine ?? "no reason given")"
    }
  }

  /// How long to retry requests to an environment that does not respond.
  package struct Patience: Sendable {
    /// For an environment that has never responded, and so probably does not exist.
    package var first = Duration.seconds(2)
    /// For an environment that has responded: a killed daemon restores its state before it responds again.
    package var again = Duration.seconds(30)

    package init() {}
  }

  /// Whether the environment responds, as known from all of the app's connections to it.
  ///
  /// They share it, so that time spent waiting on one connection is not spent again on the next.
  package final class EnvironmentPresence: Sendable {
    private struct State {
      var hasAnswered = false
      var awaySince: ContinuousClock.Instant?
      var isOver = false
    }

    private let patience: Patience
    private let state = Guarded(State())

    init(_ patience: Patience) { self.patience = patience }

    /// Whether it has responded before, does not now, and may come back.
    var isWaitedFor: Bool { state.withLock { $0.hasAnswered && $0.awaySince != nil } && missed() }

    /// Records a response.
    func answered() {
      state.withLock { state in
        state.hasAnswered = true
        state.awaySince = nil
      }
    }

    /// Records the end of the environment.
    func end() { state.withLock { $0.isOver = true } }

    /// Records a failed request.
    ///
    /// - Returns: whether to retry.
    func missed(at now: ContinuousClock.Instant = .now) -> Bool {
      state.withLock { state in
        guard !state.isOver else { return false }
        let since = state.awaySince ?? now
        state.awaySince = since
        return since.duration(to: now) < (state.hasAnswered ? patience.again : patience.first)
      }
    }
  }

  /// Retries for an environment that does not respond: frequent at first, then twice a second.
  struct Retries {
    private static let longest = 0.5
    private var pause = 0.02
    private var hasFailed = false
    private let presence: EnvironmentPresence
    private let isPatient: Bool

    /// - Parameters:
    ///   - presence: whether the environment responds.
    ///   - isPatient: whether to retry at all.
    init(_ presence: EnvironmentPresence, isPatient: Bool = true) {
      self.presence = presence
      self.isPatient = isPatient
    }

    /// Decides whether to retry after an error, and waits a little if so.
    ///
    /// - Returns: false if the environment responds with errors or too slowly, or has been away too long.
    mutating func shouldRetry(after error: any Error) -> Bool {
      // A daemon that is starting accepts connections before it can serve them.
      guard hasFailed || error.isAbsence, presence.missed(), isPatient else { return false }
      hasFailed = true
      Thread.sleep(forTimeInterval: pause)
      pause = min(2 * pause, Self.longest)
      return true
    }
  }

  extension Error {
    /// Whether the peer was absent, or disappeared before its response was complete.
    fileprivate var isAbsence: Bool {
      let kind = (self as? CodedError)?.kind
      return kind == .noUpstream || kind == .inputOutput
    }
  }
#endif
