import Basics
import Diorama
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import Stubs
import Synchronization
import Transforms

/// Makes requests slow or makes them fail, as the network or a backend would. Every environment has one. Without
/// faults, it costs one check per request.
final class FaultInjector: Sendable {
  struct State: Sendable {
    var faults = FaultSet()
    /// How many times the faults were replaced.
    var changes = 0
    /// Replaced faults that have affected requests, and how many. Not kept over a restart.
    var replaced: [(label: String, uses: Int)] = []
  }

  let state: Guarded<State>
  private let stubs: StubServer
  private let active: Atomic<Bool>

  /// Whether there are faults.
  var isActive: Bool { active.load(ordering: .acquiring) }

  /// - Parameters:
  ///   - faults: the faults.
  ///   - stubs: draws random values from the environment's seed.
  init(_ faults: FaultSet, stubs: StubServer) {
    state = Guarded(State(faults: faults))
    active = Atomic(!faults.rules.isEmpty)
    self.stubs = stubs
  }

  /// Replaces all faults and resets their counts.
  func set(_ faults: FaultSet) {
    state.withLock { state in
      state.replaced += zip(state.faults.rules.map(\.label), state.faults.uses).filter { $1 > 0 }
        .prefix(max(0, 1000 - state.replaced.count)).map { (label: $0, uses: $1) }
      state.faults = faults
      state.changes += 1
      active.store(!faults.rules.isEmpty, ordering: .releasing)
    }
  }

  /// What happens to a request; nil for nothing.
  func effect(on request: StubRequest, _ context: MatchContext) throws(CodedError) -> FaultSet.Effect? {
    try state.withLock { (state) throws(CodedError) in
      try state.faults.effect(on: request, context) { stubs.randomBytes(counted: $0).fraction() }
    }
  }

  /// Whether a fault for a request with this method and target depends on its body.
  func needsBody(method: String, target: String, upstream: String) -> Bool {
    isActive && state.withLock { $0.faults.needsBody(method: method, target: target, upstream: upstream) }
  }
}

extension FaultSet {
  /// - Parameters:
  ///   - settings: the faults.
  ///   - upstreams: the names of the environment's upstreams; nil if they are not known yet.
  /// - Throws: ``CodedError`` for the first fault that is not valid.
  init(_ settings: [FaultSettings], upstreams: [String]? = nil) throws(CodedError) {
    var rules: [Rule] = []
    for (index, fault) in settings.enumerated() {
      if let name = fault.upstream, let upstreams, !upstreams.contains(name) {
        let near = EditDistance.likely(name, among: upstreams).map { "did you mean '\($0)'?" }
        throw CodedError(
          .broken,
          "'\(name)' is not an upstream; \(near ?? "there are: \(upstreams.sorted().joined(separator: ", "))")",
          at: "faults[\(index)].upstream")
      }
      rules.append(try Rule(fault, at: "faults[\(index)]"))
    }
    self.init(rules)
  }
}

extension Environment {
  /// Checks new faults.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` for a fault that is not valid.
  func compiled(_ faults: [FaultSettings]) throws(CodedError) -> FaultSet {
    try CodedError.translating(to: .usage, try FaultSet(faults, upstreams: upstreams.map(\.name)))
  }

  /// Replaces the faults while the environment runs.
  func setFaults(_ faults: FaultSet) {
    self.faults.set(faults)
    refuseConnections()
    changes.note()
  }

  /// Answers a request, and applies the faults to it.
  ///
  /// - Parameters:
  ///   - request: the request in the upstream's terms.
  ///   - answer: answers the request.
  /// - Returns: the response.
  /// - Throws: what `answer` throws; `CancellationError` if the client disconnects.
  func withFaults(
    on request: @autoclosure () -> StubRequest, _ answer: () async throws -> Response
  ) async throws -> Response {
    guard faults.isActive else { return try await answer() }
    let request = request()
    let effect: FaultSet.Effect?
    do throws(CodedError) { effect = try faults.effect(on: request, matchContext) } catch {
      // The test would otherwise pass or fail for the wrong reason.
      fail(error.message)
      throw Problem(status: 500, title: "The faults cannot be evaluated", detail: error.message)
    }
    guard let effect else { return try await answer() }
    let label = "fault \(effect.labels.joined(separator: ", "))"
    var replacement: Response?
    do {
      if effect.delay > 0 { try await sleep(milliseconds: effect.delay) }
      if let outcome = effect.outcome, outcome.fault != .cut { replacement = try await faulted(by: outcome, label) }
    } catch {
      note(.left, status: 499, method: request.method, url: request.url, text: "\(label): the app disconnected")
      logFaulted(request, status: 499)
      throw error
    }
    if let response = replacement {
      note(.faulted, status: response.status, method: request.method, url: request.url, text: label)
      logFaulted(request, status: response.status)
      return response
    }
    note(.note, status: 0, method: request.method, url: request.url, text: label)
    var response = try await answer()
    // A response with a reason phrase of its own loses it.
    if !response.reason.isEmpty { response.fault = nil }
    guard response.upgrade == nil, response.fault == nil else { return response }
    if let limit = effect.bytesPerSecond, request.method != "HEAD" { response = slowed(response, to: limit) }
    if let outcome = effect.outcome { response = cut(response, after: outcome.afterBytes, method: request.method) }
    return response
  }

  /// The response in place of the real one.
  private func faulted(by fault: FaultSettings, _ label: String) async throws -> Response {
    switch fault.fault {
    case .timeout:
      do { try await streams.wait { try await Delay.sleep(until: .now + .seconds(1e9)) } } catch {
        guard streams.isOver else { throw error }
      }
      return StubAnswer.broken(.emptyResponse)
    case .reset, .refused: return StubAnswer.broken(.connectionReset)
    case .empty: return StubAnswer.broken(.emptyResponse)
    case .garbage: return StubAnswer.broken(.randomData)
    case .malformedChunk: return StubAnswer.broken(.malformedChunk)
    case .cut, nil:
      let status = fault.status ?? 500
      var response =
        fault.body.map { Response(status: status, body: .bytes(Array($0.utf8))) }
        ?? Problem(status: status, title: "Injected fault", detail: label).response
      for (name, value) in (fault.headers ?? [:]).sorted(by: { $0.key < $1.key }) { response.headers.set(name, value) }
      if let seconds = fault.retryAfterSeconds { response.headers.set("Retry-After", "\(seconds)") }
      return response
    }
  }

  /// Logs the request for verification, as if a stub had answered it.
  private func logFaulted(_ request: StubRequest, status: Int) {
    guard stubs.isActive else { return }
    let logged = LoggedRequest(request)
    stubs.state.withLock { state in
      state.log.complete(state.log.add(logged, at: Date()), stub: "fault", status: status, response: nil)
    }
  }

  /// Sends the body at a limited rate on the environment's timeline.
  private func slowed(_ response: Response, to bytesPerSecond: Int) -> Response {
    // Ten pieces per second resemble a slow network, and take little work.
    let size = max(1, min(bytesPerSecond / 10, FileBody.pieceSize))
    let pause = Double(size) / Double(bytesPerSecond) * 1000
    return passing(response) { pieces, pipe in
      var isFirst = true
      while let piece = try await pieces() {
        for start in stride(from: 0, to: piece.count, by: size) {
          if !isFirst { try await self.sleep(milliseconds: pause) }
          isFirst = false
          try await pipe.write(Array(piece[start..<min(start + size, piece.count)]))
        }
      }
    }
  }

  /// Closes the connection in the middle of the body, or before the head if there is no body.
  private func cut(_ response: Response, after bytes: Int?, method: String) -> Response {
    let length = response.body.length
    guard length != 0, method != "HEAD", ![204, 304].contains(response.status) else {
      return StubAnswer.broken(.emptyResponse)
    }
    // At least one byte is missing.
    let limit = min(bytes ?? length.map { $0 / 2 } ?? 1024, length.map { $0 - 1 } ?? .max)
    return passing(response) { pieces, pipe in
      var rest = limit
      while rest > 0, let piece = try await pieces() {
        try await pipe.write(Array(piece.prefix(rest)))
        rest -= piece.count
      }
      throw BodyError("the body was cut off by a fault")
    }
  }

  /// The response with a body that a task sends.
  private func passing(
    _ response: Response,
    _ pass: @escaping @Sendable (_ pieces: () async throws -> [UInt8]?, _ pipe: BytePipe) async throws -> Void
  ) -> Response {
    let body = response.body
    let isEndless = response.headers["Content-Type"]?.lowercased().hasPrefix("text/event-stream") ?? false
    // Pieces stay the same in each run.
    let pipe = BytePipe(keepsChunks: true)
    let task = Task {
      do {
        var isGiven = false
        var offset = 0
        try await pass(
          {
            switch body {
            case .bytes(let bytes):
              defer { isGiven = true }
              return isGiven || bytes.isEmpty ? nil : bytes
            case .stream(let source, _): return try await source.read()
            case .file(let file):
              let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
              offset += piece.count
              return piece.isEmpty ? nil : piece
            }
          }, pipe)
        pipe.finish()
      } catch {
        pipe.fail(error)
        guard case .stream(let source, _) = body else { return }
        // Read the rest so that the recording is complete, unless the app has disconnected or there is no end.
        while !isEndless, !Task.isCancelled, (try? await source.read()) ?? nil != nil {}
        source.abandon()
      }
    }
    pipe.onAbandoned { task.cancel() }
    var slow = response
    slow.body = .stream(pipe, length: body.length)
    return slow
  }
}
