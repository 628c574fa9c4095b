#if DEBUG || Controlled
  import Basics
  import Foundation
  package import LaunchContract
  import LocalHTTP

  /// The app's connection to its environment: one persistent loopback connection, one request at a time.
  ///
  /// It blocks the calling thread until the response arrives, because a recorded value must not be used before it is
  /// stored: 30 seconds at most, and as long again while a killed daemon is being restarted. It uses no proxy, redirect or
  /// TLS, because the environment is on the same machine.
  package final class ControlConnection: Sendable {
    private let address: ControlAddress
    private let timeout: Duration
    private let waitsForReturn: Bool
    private let socket = Guarded<LocalSocket?>(nil)

    /// Connects with the first report.
    ///
    /// - Parameters:
    ///   - control: the contract's `control`.
    ///   - timeout: the time limit of a report.
    ///   - patience: timeouts for an environment that does not respond.
    /// - Throws: ``DioramaError`` of kind `contract` unless the URL is `http` with an IPv4 loopback address.
    package convenience init(
      _ control: LaunchContract.Control, timeout: Duration = .seconds(30), patience: Patience = Patience()
    ) throws(DioramaError) {
      self.init(try ControlAddress(control, patience: patience), timeout: timeout)
    }

    /// - Parameters:
    ///   - address: the address, shared with the app's other connections.
    ///   - timeout: the time limit of a report.
    ///   - waitsForReturn: whether a report waits for an environment that does not respond.
    init(_ address: ControlAddress, timeout: Duration = .seconds(30), waitsForReturn: Bool = true) {
      self.address = address
      self.timeout = timeout
      self.waitsForReturn = waitsForReturn
    }

    /// Whether the environment has responded before, does not now, and may come back.
    var isEnvironmentWaitedFor: Bool { address.presence.isWaitedFor }

    /// Reports the use of a random value, and returns the value to use.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func report(_ use: StringUse) throws(DioramaError) -> StringUseAnswer {
      let body = try post("/strings", use)
      guard let answer = try? JSONDecoder().decode(StringUseAnswer.self, from: Data(body)) else {
        throw failure("/strings", "the response is not {\"value\", \"ordinal\"}")
      }
      return answer
    }

    /// Reports the toggles and recorded values that were read.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func report(_ usage: UsageReport) throws(DioramaError) {
      _ = try post("/usage", usage)
    }

    /// Reports an applied step, or the number of sleepers.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func acknowledge(_ message: Acknowledgement) throws(DioramaError) {
      _ = try post("/acknowledge", message)
    }

    /// Sends a message and returns the body of a 2xx response.
    private func post(_ path: String, _ message: some Encodable) throws(DioramaError) -> [UInt8] {
      let answer: HTTPResponse
      do {
        answer = try send(address.request("POST", path, body: [UInt8](try JSON.encode(message))))
      } catch let error as CodedError where [.broken, .inputOutput].contains(error.kind) {
        throw failure(path, error.problem)
      } catch {
        throw failure(path, "\(error); is the environment that started this app still running?")
      }
      guard 200..<300 ~= answer.status else { throw failure(path, answer.refusal) }
      return answer.body
    }

    /// Sends a request on the persistent connection, or on a new one if that has been closed.
    private func send(_ request: [UInt8]) throws -> HTTPResponse {
      let deadline = ContinuousClock.now + timeout
      return try socket.withLock { kept in
        // Safe to repeat, because a report names its key and ordinal.
        if let socket = kept.take(), let answer = try? Self.send(request, over: socket, by: deadline) {
          address.presence.answered()
          if answer.keepsAlive { kept = consume socket }
          return answer
        }
        var retries = Retries(address.presence, isPatient: waitsForReturn)
        var limit = deadline
        while true {
          do {
            let socket = try address.connect(by: limit)
            let answer = try Self.send(request, over: socket, by: limit)
            address.presence.answered()
            if answer.keepsAlive { kept = consume socket }
            return answer
          } catch {
            guard retries.shouldRetry(after: error) else { throw error }
            limit = .now + timeout
          }
        }
      }
    }

    private static func send(
      _ request: [UInt8], over socket: borrowing LocalSocket, by deadline: ContinuousClock.Instant
    ) throws -> HTTPResponse {
      try socket.send(request, by: deadline)
      return try socket.receiveResponse(by: deadline)
    }

    private func failure(_ path: String, _ problem: String) -> DioramaError {
      DioramaError(.control, "the environment at \(address.url)\(path) did not accept a report: \(problem)")
    }
  }
#endif
