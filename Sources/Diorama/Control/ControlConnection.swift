#if DEBUG || Controlled
  import Foundation
  package import LaunchContract

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// The app's line to its environment: one kept connection on loopback, one request at a time.
  ///
  /// It blocks the calling thread until the answer is there, ten seconds at most, since a recorded value must not be
  /// used before it is stored. No proxy, no redirect, no TLS: the environment is on this machine.
  package final class ControlConnection: Sendable {
    private let url: String
    private let authority: String
    private let basePath: String
    private let address: in_addr
    private let port: UInt16
    private let token: Secret
    private let timeout: Duration
    private let socket = Locked<LoopbackSocket?>(nil)

    /// Connects with the first report, not here.
    ///
    /// - Parameters:
    ///   - control: the contract's.
    ///   - timeout: how long one report may take.
    /// - Throws: ``DioramaError`` of kind `contract` for a URL that is not `http` on an IPv4 loopback address.
    package init(_ control: LaunchContract.Control, timeout: Duration = .seconds(10)) throws(DioramaError) {
      guard let components = URLComponents(string: control.url), components.scheme == "http",
        let host = components.host, let address = Self.loopback(host),
        let port = UInt16(exactly: components.port ?? 80), port > 0
      else {
        throw DioramaError(
          .contract,
          "launch contract: control.url: '\(control.url)' is not a URL such as http://127.0.0.1:20011/__diorama")
      }
      guard !control.token.revealed.utf8.contains(where: { $0 < 0x21 || $0 == 0x7F }) else {
        throw DioramaError(.contract, "launch contract: control.token: it must not have spaces or control characters")
      }
      url = control.url
      authority = "\(host):\(port)"
      var path = components.percentEncodedPath
      while path.hasSuffix("/") { path.removeLast() }
      basePath = path
      self.address = address
      self.port = port
      token = control.token
      self.timeout = timeout
    }

    /// Tells of the use of a random value, and gets the one to use.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func report(_ use: StringUse) throws(DioramaError) -> StringUseAnswer {
      let body = try post("/strings", use)
      guard let answer = try? JSONDecoder().decode(StringUseAnswer.self, from: Data(body)) else {
        throw failure("/strings", "the answer is not {\"value\", \"ordinal\"}")
      }
      return answer
    }

    /// Tells which toggles were read.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func report(_ usage: UsageReport) throws(DioramaError) {
      _ = try post("/usage", usage)
    }

    /// The body of a 2xx answer.
    private func post(_ path: String, _ message: some Encodable) throws(DioramaError) -> [UInt8] {
      let answer: HTTPAnswer
      do {
        let body = [UInt8](try ContractJSON.encode(message))
        let head = [
          "POST \(basePath)\(path) HTTP/1.1", "Host: \(authority)", "Authorization: Bearer \(token.revealed)",
          "Content-Type: application/json", "Content-Length: \(body.count)", "", "",
        ]
        answer = try exchange(Array(head.joined(separator: "\r\n").utf8) + body)
      } catch let error as HTTPAnswer.Malformed {
        throw failure(path, error.problem)
      } catch {
        throw failure(path, "\(error); is the environment that started this app still running?")
      }
      guard 200..<300 ~= answer.status else { throw refusal(path, answer) }
      return answer.body
    }

    /// Sends the request on the kept connection, or on a new one where that has been closed meanwhile.
    private func exchange(_ request: [UInt8]) throws -> HTTPAnswer {
      let deadline = ContinuousClock.now + timeout
      return try socket.withLock { kept in
        // A report names its key and ordinal, so that a second one does no harm.
        if let socket = kept.take(), let answer = try? Self.exchange(request, over: socket, by: deadline) {
          if answer.keepsAlive { kept = consume socket }
          return answer
        }
        let socket = try LoopbackSocket(to: address, port: port, by: deadline)
        let answer = try Self.exchange(request, over: socket, by: deadline)
        if answer.keepsAlive { kept = consume socket }
        return answer
      }
    }

    private static func exchange(
      _ request: [UInt8], over socket: borrowing LoopbackSocket, by deadline: ContinuousClock.Instant
    ) throws -> HTTPAnswer {
      try socket.send(request, by: deadline)
      var received: [UInt8] = []
      while true {
        let bytes = try socket.receive(by: deadline)
        received += bytes
        if let answer = try HTTPAnswer.parse(received, ended: bytes.isEmpty) { return answer }
      }
    }

    private func refusal(_ path: String, _ answer: HTTPAnswer) -> DioramaError {
      struct Problem: Decodable {
        var title: String?
        var detail: String?
      }
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body))
      let text = String(decoding: answer.body.prefix(200), as: UTF8.self)
      let firstLine = text.split(whereSeparator: \.isNewline).first.map(String.init)
      return failure(
        path, "status \(answer.status): \(problem?.detail ?? problem?.title ?? firstLine ?? "no reason given")")
    }

    private func failure(_ path: String, _ problem: String) -> DioramaError {
      DioramaError(.control, "the environment at \(url)\(path) did not take a report: \(problem)")
    }

    private static func loopback(_ host: String) -> in_addr? {
      var address = in_addr()
      guard inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &address) == 1,
        UInt32(bigEndian: address.s_addr) >> 24 == 127
      else { return nil }
      return address
    }
  }
#endif
