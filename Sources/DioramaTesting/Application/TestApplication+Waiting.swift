import Foundation

extension TestApplication {
  /// One of the program's two streams.
  public enum Stream: Sendable {
    /// Standard output.
    case output
    /// Standard error.
    case error
  }

  /// Waits until the program is in a state.
  ///
  /// `.notRunning` stands for every state in which it does not run. Whoever waits for an end expects it: a program that
  /// is killed unexpectedly fails the test at the end of its environment.
  ///
  /// - Parameters:
  ///   - state: what to wait for.
  ///   - timeout: how long.
  /// - Throws: ``DioramaTestingError``: the time is over, or the program ended in another way; the last lines of its
  ///   output are in the text.
  public func wait(for state: State, timeout: Duration = .seconds(30)) async throws {
    guard let process else {
      guard state == .notRunning else { throw notLaunched() }
      return
    }
    if state == .running {
      guard process.ending == nil else { throw failure(.ended, "\(name) is not running", process) }
      return
    }
    do throws(LaunchedProcess.WaitFailure) {
      let ending = try await process.wait(timeout: timeout) { $0.ending }
      if state != .notRunning, State(ending) != state {
        throw .ended
      }
      process.expectEnd()
    } catch {
      throw failure(error, "\(name) did not end as expected (\(state.text))", timeout, process)
    }
  }

  /// Waits until the program has written a text that has not been waited for yet: each wait begins where the last one on
  /// the stream found something.
  ///
  /// ```swift
  /// try await app.wait(forOutput: "ready")
  /// ```
  ///
  /// - Parameters:
  ///   - text: what it is to say.
  ///   - stream: where.
  ///   - timeout: how long.
  /// - Throws: ``DioramaTestingError``: the time is over, or the program ended without saying so; the last lines of its
  ///   output are in the text.
  public func wait(
    forOutput text: String, on stream: Stream = .output, timeout: Duration = .seconds(30)
  ) async throws {
    let bytes = Array(text.utf8)
    let scanned = Scanned()
    _ = try await wait(what: "did not say '\(text)'", timeout) { state -> Bool? in
      switch stream {
      case .output: state.output.take(bytes, scanned: &scanned.count) ? true : nil
      case .error: state.errors.take(bytes, scanned: &scanned.count) ? true : nil
      }
    }
  }

  /// Waits until the program has written something that matches a pattern and has not been waited for yet.
  ///
  /// ```swift
  /// let line = try await backend.wait(forOutput: /http:\/\/127\.0\.0\.1:\d+/)
  /// ```
  ///
  /// The pattern is tried on what has come so far, at most the last megabyte: one that can match more with what follows
  /// (`.*` at its end) should name the end of the line.
  ///
  /// - Parameters:
  ///   - pattern: what it is to say.
  ///   - stream: where.
  ///   - timeout: how long.
  /// - Returns: the text that matches.
  /// - Throws: ``DioramaTestingError`` as for a text.
  @discardableResult
  public func wait(
    forOutput pattern: some RegexComponent, on stream: Stream = .output, timeout: Duration = .seconds(30)
  ) async throws -> String {
    // A pattern is a value that never changes; only its type does not say so.
    nonisolated(unsafe) let pattern = pattern.regex
    return try await wait(what: "said nothing that matches the pattern", timeout) { state in
      switch stream {
      case .output: state.output.take(pattern)
      case .error: state.errors.take(pattern)
      }
    }
  }

  /// Writes to the program's standard input; waits while the program does not read.
  ///
  /// - Parameter text: what it is to read.
  /// - Throws: ``DioramaTestingError`` when it does not run, or has closed its input.
  public func write(_ text: String) async throws {
    guard let process else { throw notLaunched() }
    guard await process.write(Array(text.utf8)) else {
      throw failure(.ended, "\(name) does not read its standard input any more", process)
    }
  }

  /// Closes the program's standard input: it reads the end.
  public func closeInput() { process?.closeInput() }

  /// How far a text has been searched for; reached under the process's lock only.
  private final class Scanned: @unchecked Sendable {
    var count = 0
  }

  private func wait<Value: Sendable>(
    what: String, _ timeout: Duration, _ check: @escaping @Sendable (inout LaunchedProcess.State) -> Value?
  ) async throws -> Value {
    guard let process else { throw notLaunched() }
    do throws(LaunchedProcess.WaitFailure) {
      return try await process.wait(timeout: timeout, check)
    } catch {
      throw failure(error, "\(name) \(what)", timeout, process)
    }
  }

  private func failure(
    _ failure: LaunchedProcess.WaitFailure, _ what: String, _ timeout: Duration, _ process: LaunchedProcess
  ) -> any Error {
    switch failure {
    case .cancelled: CancellationError()
    case .timedOut: self.failure(.timedOut, "\(what) within \(timeout)", process)
    case .ended: self.failure(.ended, what, process)
    }
  }

  private func failure(
    _ kind: DioramaTestingError.Kind, _ what: String, _ process: LaunchedProcess
  ) -> DioramaTestingError {
    DioramaTestingError(kind, "\(what); \(state.text)\(process.tail())")
  }

  private func notLaunched() -> DioramaTestingError {
    DioramaTestingError(.usage, "\(name) has not been launched; call launch() first")
  }
}
