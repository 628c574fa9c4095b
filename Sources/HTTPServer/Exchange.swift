import HTTPMessages

/// The client has closed its connection, or the server has ended it.
package struct ClientGone: Error, CustomStringConvertible {
  package var description: String { "the client has closed its connection" }
}

/// One request in the hands of ``RequestHandler/respond(to:)``, from its start to the end of the answer.
final class Exchange: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var outcome: Result<Response, any Error>?
    var stream: ResponseStream?
    var upgrade: (@Sendable (Duplex) -> Void)?
    /// Parts of the handler's task that are due on the connection's thread.
    var jobs: [UnownedJob] = []
    var isOver = false
  }

  /// Where the request's body goes while it arrives.
  let upload: BytePipe?
  private let connection: Connection
  private let state = Guarded(State())

  init(connection: Connection, upload: BytePipe?) {
    self.connection = connection
    self.upload = upload
    upload?.onWritable { connection.wake() }
  }

  /// Starts the handler.
  ///
  /// One that is brief runs wholly on the connection's thread, in ``runJobs()``; any other up to its first suspension,
  /// where that is possible: an answer that needs no waiting then costs no switch of threads.
  ///
  /// - Parameters:
  ///   - handler: whose request it is.
  ///   - continuation: what is done in place of its ``RequestHandler/respond(to:)``.
  ///   - request: the request.
  func start(
    _ handler: any RequestHandler, _ continuation: (@Sendable (Request) async throws -> Response)?, _ request: Request
  ) {
    let work: @Sendable () async -> Void = {
      do {
        let response =
          if let continuation { try await continuation(request) } else { try await handler.respond(to: request) }
        self.handlerReturned(.success(response))
      } catch {
        self.handlerReturned(.failure(error))
      }
    }
    let task: Task<Void, Never>
    // While a body comes in, the thread has the client to wait for and not the handler.
    if handler.isBrief, upload == nil {
      task = Task(executorPreference: self) { await work() }
    } else if #available(macOS 26, iOS 26, *) {
      task = Task.immediate { await work() }
    } else {
      task = Task { await work() }
    }
    let isLate = state.withLock { state in
      state.task = task
      return state.isOver
    }
    if isLate { task.cancel() }
  }

  private func handlerReturned(_ outcome: Result<Response, any Error>) {
    // With a stream in the answer somebody may still read the request's body, to pass it on; else nobody does, and
    // the rest of it must not wait for a reader.
    if case .success(let response) = outcome, case .stream = response.body {} else { upload?.abandon() }
    let isLate = state.withLock { state in
      guard !state.isOver else { return true }
      state.outcome = outcome
      return false
    }
    if isLate { return Self.discard(outcome) }
    connection.wake()
  }

  /// What the handler has come to, once.
  func takeOutcome() -> Result<Response, any Error>? {
    state.withLock { $0.outcome.take() }
  }

  /// The answer's body is now being sent.
  func sends(_ stream: ResponseStream) {
    let isLate = state.withLock { state in
      state.stream = stream
      return state.isOver
    }
    if isLate { stream.end(complete: false) }
  }

  /// The answer lets the connection leave HTTP.
  func sends(_ upgrade: @escaping @Sendable (Duplex) -> Void) {
    state.withLock { state in
      if !state.isOver { state.upgrade = upgrade }
    }
  }

  /// What becomes of the connection after that, once.
  func takeUpgrade() -> (@Sendable (Duplex) -> Void)? {
    state.withLock { $0.upgrade.take() }
  }

  /// The end: of the answer, or of the connection before that.
  func end(complete: Bool) {
    let (task, outcome, stream, jobs) = state.withLock { state in
      state.isOver = true
      state.upgrade = nil
      defer { state.jobs = [] }
      return (state.task.take(), state.outcome.take(), state.stream.take(), state.jobs)
    }
    for job in jobs { globalConcurrentExecutor.enqueue(job) }
    upload?.onWritable(nil)
    stream?.end(complete: complete)
    outcome.map(Self.discard)
    guard !complete else { return }
    task?.cancel()
    upload?.fail(ClientGone())
  }

  private static func discard(_ outcome: Result<Response, any Error>) {
    if case .success(let response) = outcome, case .stream(let pipe, _) = response.body { pipe.abandon() }
  }
}

extension Exchange: TaskExecutor {
  /// A part of the handler's task is due: the connection's thread runs it, which has to be woken for the answer anyway.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = state.withLock { state in
      guard !state.isOver else { return false }
      state.jobs.append(job)
      return true
    }
    if isTaken { connection.wake() } else { globalConcurrentExecutor.enqueue(job) }
  }

  /// Runs what is due; on the connection's thread.
  func runJobs() {
    while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
