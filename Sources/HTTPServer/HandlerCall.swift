import Basics
package import HTTPMessages

/// The client disconnected, or the server closed the connection.
package struct ClientGone: Error, CustomStringConvertible {
  package var description: String { "the client has disconnected" }
}

/// A request being handled by ``RequestHandler/respond(to:)``, from its start to the end of the response.
///
/// Independent of the protocol version: the connection that received the request calls it on its thread, and is woken
/// when there is something to do.
package final class HandlerCall: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var outcome: Result<Response, any Error>?
    var stream: BytePipe?
    var takeover: (@Sendable (any DuplexChannel, [UInt8]) -> Void)?
    /// Parts of the handler's task to run on the connection's thread.
    var jobs: [UnownedJob] = []
    var isOver = false
  }

  /// The request's body as it arrives.
  package let upload: BytePipe?
  private let wake: @Sendable () -> Void
  private let state = Guarded(State())

  /// - Parameters:
  ///   - upload: the request's body if it is streamed.
  ///   - wake: called on any thread when the upload has room again, when the handler has returned, and when parts of
  ///     its task are to run in ``runJobs()``.
  package init(upload: BytePipe?, wake: @escaping @Sendable () -> Void) {
    self.upload = upload
    self.wake = wake
    upload?.onWritable(wake)
  }

  /// Starts the handler.
  ///
  /// A brief handler runs entirely on the connection's thread, in ``runJobs()``; others run there up to their first
  /// suspension where possible, so a response that needs no waiting costs no thread switch.
  ///
  /// - Parameters:
  ///   - handler: the handler.
  ///   - continuation: replaces the handler's ``RequestHandler/respond(to:)``.
  ///   - request: the request.
  package func start(
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
    // While a body arrives, the thread must receive it instead of running the handler.
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
    // If the response is a stream, the request's body may still be read, to be forwarded. Otherwise no reader is left,
    // so the rest must not wait for one.
    if case .success(let response) = outcome, case .stream = response.body {} else { upload?.abandon() }
    let isLate = state.withLock { state in
      guard !state.isOver else { return true }
      state.outcome = outcome
      return false
    }
    if isLate { return Self.discard(outcome) }
    wake()
  }

  /// Takes the handler's result.
  ///
  /// - Returns: the result, once; nil before that and afterwards.
  package func takeOutcome() -> Result<Response, any Error>? {
    state.withLock { $0.outcome.take() }
  }

  /// The body of the response is being sent.
  ///
  /// - Parameter stream: the body.
  package func sends(_ stream: BytePipe) {
    let isLate = state.withLock { state in
      state.stream = stream
      return state.isOver
    }
    if isLate { stream.readerEnds(complete: false) }
  }

  /// The response upgrades the connection.
  func sends(_ takeover: @escaping @Sendable (any DuplexChannel, [UInt8]) -> Void) {
    state.withLock { state in
      if !state.isOver { state.takeover = takeover }
    }
  }

  /// What takes the upgraded connection over, returned once.
  func takeTakeover() -> (@Sendable (any DuplexChannel, [UInt8]) -> Void)? {
    state.withLock { $0.takeover.take() }
  }

  /// The response has ended, or the connection was closed before that.
  ///
  /// - Parameter complete: whether all of the response has been sent; if not, the handler's task is cancelled.
  package func end(complete: Bool) {
    let (task, outcome, stream, jobs) = state.withLock { state in
      state.isOver = true
      state.takeover = nil
      defer { state.jobs = [] }
      return (state.task.take(), state.outcome.take(), state.stream.take(), state.jobs)
    }
    for job in jobs { globalConcurrentExecutor.enqueue(job) }
    upload?.onWritable(nil)
    stream?.readerEnds(complete: complete)
    outcome.map(Self.discard)
    guard !complete else { return }
    task?.cancel()
    upload?.fail(ClientGone())
  }

  private static func discard(_ outcome: Result<Response, any Error>) {
    if case .success(let response) = outcome, case .stream(let pipe, _) = response.body { pipe.abandon() }
  }
}

extension HandlerCall: TaskExecutor {
  /// Schedules part of the handler's task on the connection's thread, which has to wake for the response anyway.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isTaken = state.withLock { state in
      guard !state.isOver else { return false }
      state.jobs.append(job)
      return true
    }
    if isTaken { wake() } else { globalConcurrentExecutor.enqueue(job) }
  }

  /// Runs scheduled parts of the task; called on the connection's thread.
  package func runJobs() {
    while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

extension BytePipe {
  /// The body of a response has been sent, or will not be.
  fileprivate func readerEnds(complete: Bool) {
    guard complete else {
      onReadable(nil)
      return abandon()
    }
    // All of the declared length has been sent. The writer may not have ended the stream yet; that does not mean the
    // reader abandoned it. Only bytes beyond the length do.
    awaitEnd()
  }

  private func awaitEnd() {
    onReadable { [weak self] in self?.awaitEnd() }
    let taken = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { take(into: $0) }
    switch taken {
    case .empty: return
    case .bytes: abandon()
    case .end, .failed: break
    }
    onReadable(nil)
  }
}
