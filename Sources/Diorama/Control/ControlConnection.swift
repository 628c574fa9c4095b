#if DEBUG || Controlled
  import Foundation
  package import LaunchContract

  /// The app's line to its environment: one kept connection on loopback, one request at a time.
  ///
  /// It blocks the calling thread until the answer is there, half a minute at most, since a recorded value must not be
  /// used before it is stored; as long again while the environment is away, as one is whose daemon was killed and is
  /// started again. No proxy, no redirect, no TLS: the environment is on this machine.
  package final class ControlConnection: Sendable {
    private let address: ControlAddress
    private let timeout: Duration
    private let waitsForReturn: Bool
    private let socket = Locked<LoopbackSocket?>(nil)

    /// Connects with the first report, not here.
    ///
    /// - Parameters:
    ///   - control: the contract's.
    ///   - timeout: how long one report may take.
    ///   - patience: with an environment that does not answer.
    /// - Throws: ``DioramaError`` of kind `contract` for a URL that is not `http` on an IPv4 loopback address.
    package convenience init(
      _ control: LaunchContract.Control, timeout: Duration = .seconds(30), patience: Patience = Patience()
    ) throws(DioramaError) {
      self.init(try ControlAddress(control, patience: patience), timeout: timeout)
    }

    /// - Parameters:
    ///   - address: shared with the app's other lines.
    ///   - timeout: how long one report may take.
    ///   - waitsForReturn: whether a report waits for an environment that is away.
    init(_ address: ControlAddress, timeout: Duration = .seconds(30), waitsForReturn: Bool = true) {
      self.address = address
      self.timeout = timeout
      self.waitsForReturn = waitsForReturn
    }

    /// Whether the environment was there, is away, and may come back.
    var isEnvironmentWaitedFor: Bool { address.presence.isWaitedFor }

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

    /// Tells which toggles and recorded values were read.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func report(_ usage: UsageReport) throws(DioramaError) {
      _ = try post("/usage", usage)
    }

    /// Tells that a step has been applied, or how many sleepers there are.
    ///
    /// - Throws: ``DioramaError`` of kind `control`.
    package func acknowledge(_ message: Acknowledgement) throws(DioramaError) {
      _ = try post("/acknowledge", message)
    }

    /// The body of a 2xx answer.
    private func post(_ path: String, _ message: some Encodable) throws(DioramaError) -> [UInt8] {
      let answer: HTTPAnswer
      do {
        answer = try exchange(address.request("POST", path, body: [UInt8](try ContractJSON.encode(message))))
      } catch let error as HTTPAnswer.Malformed {
        throw failure(path, error.problem)
      } catch {
        throw failure(path, "\(error); is the environment that started this app still running?")
      }
      guard 200..<300 ~= answer.status else { throw failure(path, answer.refusal) }
      return answer.body
    }

    /// Sends the request on the kept connection, or on a new one where that has been closed meanwhile.
    private func exchange(_ request: [UInt8]) throws -> HTTPAnswer {
      let deadline = ContinuousClock.now + timeout
      return try socket.withLock { kept in
        // A report names its key and ordinal, so that a second one does no harm.
        if let socket = kept.take(), let answer = try? Self.exchange(request, over: socket, by: deadline) {
          address.presence.answered()
          if answer.keepsAlive { kept = consume socket }
          return answer
        }
        var tries = Tries(address.presence, isPatient: waitsForReturn)
        var limit = deadline
        while true {
          do {
            let socket = try address.connect(by: limit)
            let answer = try Self.exchange(request, over: socket, by: limit)
            address.presence.answered()
            if answer.keepsAlive { kept = consume socket }
            return answer
          } catch {
            guard tries.goOn(after: error) else { throw error }
            limit = .now + timeout
          }
        }
      }
    }

    private static func exchange(
      _ request: [UInt8], over socket: borrowing LoopbackSocket, by deadline: ContinuousClock.Instant
    ) throws -> HTTPAnswer {
      try socket.send(request, by: deadline)
      return try socket.receiveAnswer(by: deadline)
    }

    private func failure(_ path: String, _ problem: String) -> DioramaError {
      DioramaError(.control, "the environment at \(address.url)\(path) did not take a report: \(problem)")
    }
  }
#endif
