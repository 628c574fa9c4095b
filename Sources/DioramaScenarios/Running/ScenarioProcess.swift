import Basics
import Foundation
import Gherkin
import Synchronization
import Testing

/// What the scenarios of a test process share: hooks of the run, observers, and the summary at the end.
final class ScenarioProcess: Sendable {
  /// That of this process, which ends when the process does.
  static let shared: ScenarioProcess = {
    let process = ScenarioProcess(observers: ReportObserver.requested().map { [$0] } ?? [])
    atexit { ScenarioProcess.shared.end() }
    return process
  }()

  private struct State {
    var lastID = 0
    var beforeHooks: [String: Task<String?, Never>] = [:]
    var afterHooks: [(hook: Hook, key: String)] = []
    var undefined: [(step: PackedScenario.Step, place: String, snippet: Snippet)] = []
    var hasFailed = false
    var hasEnded = false
  }

  private let state = Guarded(State())
  private let observers: [any ScenarioObserver]

  init(observers: [any ScenarioObserver]) { self.observers = observers }

  func nextID() -> Int {
    state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
  }

  func tell(_ event: ScenarioEvent, at time: Date = Date()) {
    for observer in observers { observer.receive(event, at: time) }
  }

  /// Notes that a scenario has failed, its last attempt included.
  func noteFailure() { state.withLock { $0.hasFailed = true } }

  func noteUndefined(_ step: PackedScenario.Step, at place: SourceLocation, _ snippet: Snippet) {
    state.withLock { $0.undefined.append((step, place.shortText, snippet)) }
  }

  // MARK: Hooks of the run

  /// Runs the hooks that have not run yet, and waits for those that other scenarios run.
  ///
  /// - Returns: the failure of a hook, if one has failed.
  func runBeforeHooks(of catalog: StepCatalog) async -> String? {
    var failure: String?
    for hook in catalog.hooks where hook.moment == .afterRun {
      let key = Self.key(of: hook)
      state.withLock { state in
        if !state.afterHooks.contains(where: { $0.key == key }) { state.afterHooks.append((hook, key)) }
      }
    }
    for hook in catalog.hooks where hook.moment == .beforeRun {
      // It runs once, whatever task waits for it.
      let sendable = SendableHook(hook: hook)
      let key = Self.key(of: hook)
      let task = state.withLock { state in
        if let task = state.beforeHooks[key] { return task }
        let task = Task.detached { await self.run(sendable.hook) }
        state.beforeHooks[key] = task
        return task
      }
      let problem = await task.value
      failure = failure ?? problem
    }
    return failure
  }

  private static func key(of hook: Hook) -> String { "\(hook.place) \(hook.name ?? "")" }

  private func run(_ hook: Hook) async -> String? {
    let event = RunHook(isBefore: hook.moment == .beforeRun, name: hook.name, place: hook.place)
    tell(.runHookStarted(event))
    let start = ContinuousClock.now
    var result = StepResult(status: .passed)
    do {
      try await ScenarioAttachment.$recordOfRunHook.withValue({ self.tell(.runHookAttached(event, $0)) }) {
        try await hook.body()
      }
    } catch {
      result = StepResult(
        status: .failed, message: "\(error)", errorType: "\(type(of: error))", places: [hook.place.shortText])
    }
    result.duration = ContinuousClock.now - start
    tell(.runHookFinished(event, result))
    guard result.status == .failed else { return nil }
    state.withLock { $0.hasFailed = true }
    return "the \(hook.description) failed: \(result.message ?? "")"
  }

  // MARK: The end

  private static let limitOfAfterHooks = 300.0

  /// Waits for the hooks. The main thread runs its run loop meanwhile, for hooks on the main actor.
  private static func wait(for done: DispatchSemaphore) -> Bool {
    guard Thread.isMainThread else { return done.wait(timeout: .now() + limitOfAfterHooks) == .success }
    let end = Date(timeIntervalSinceNow: limitOfAfterHooks)
    while done.wait(timeout: .now()) != .success {
      guard Date() < end else { return false }
      _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
    }
    return true
  }

  /// Ends the run as ``finish()`` does, prints what to do about undefined steps, and fails the process if a hook has failed.
  private func end() {
    let done = DispatchSemaphore(value: 0)
    let ended = Guarded<[String]>([])
    // The thread that exits waits; the hooks run on others.
    Task.detached {
      let failures = await self.finish()
      ended.withLock { $0 = failures }
      done.signal()
    }
    let hasEnded = Self.wait(for: done)
    var failures = ended.withLock { $0 }
    if !hasEnded {
      failures.append("the AfterAll hooks did not finish within 5 minutes")
    }
    if let summary { Self.say(summary) }
    guard !failures.isEmpty else { return }
    for failure in failures { Self.say("diorama: \(failure)") }
    fflush(nil)
    _exit(1)
  }

  /// Runs the hooks of the end, once, and tells the observers.
  ///
  /// - Returns: the failures of the hooks.
  func finish() async -> [String] {
    guard
      state.withLock({ state in
        defer { state.hasEnded = true }
        return !state.hasEnded && (state.lastID > 0 || !state.beforeHooks.isEmpty)
      })
    else { return [] }
    var failures: [String] = []
    for hook in state.withLock({ $0.afterHooks.map { SendableHook(hook: $0.hook) } }).reversed() {
      if let failure = await run(hook.hook) { failures.append(failure) }
    }
    tell(.runFinished(hasSucceeded: !state.withLock { $0.hasFailed }))
    return failures
  }

  /// All undefined steps, each snippet once; nil if there are none.
  var summary: String? {
    let undefined = state.withLock { $0.undefined }
    guard !undefined.isEmpty else { return nil }
    var places: [Snippet: [String]] = [:]
    var order: [Snippet] = []
    for (_, place, snippet) in undefined {
      if places[snippet] == nil { order.append(snippet) }
      if places[snippet]?.contains(place) != true { places[snippet, default: []].append(place) }
    }
    let count = undefined.count == 1 ? "1 step is" : "\(undefined.count) steps are"
    let list = order.map { snippet in
      "// \(places[snippet, default: []].joined(separator: ", "))\n\(snippet.code)"
    }
    return "diorama: \(count) undefined; add to your step definitions:\n\n" + list.joined(separator: "\n\n")
  }

  private static func say(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}

/// A hook of the run, which belongs to no scenario's task.
private struct SendableHook: @unchecked Sendable {
  let hook: Hook
}
