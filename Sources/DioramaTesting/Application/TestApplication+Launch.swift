import ChildProcesses
import EnvironmentService
import Foundation
import HTTPMessages

extension TestApplication {
  /// How long a program has to end after it was asked to.
  static let grace = Duration.seconds(5)

  /// Launches the program inside its environment and returns once it runs. If it runs already, it is terminated first.
  ///
  /// ```swift
  /// let app = TestApplication(executable: "clinic")
  /// try await app.launch()
  /// ```
  ///
  /// - Throws: ``DioramaTestingError`` when there is no such program, or no environment to launch it in.
  public func launch() async throws {
    await terminate()
    let environment: TestEnvironment? =
      switch context {
      case .current: try TestEnvironment.current
      case .environment(let environment): environment
      case .outside: nil
      }
    let inherited = ProcessInfo.processInfo.environment
    let program = try Executable.find(executable, path: inherited["PATH"])
    let wishes = settings.withLock { $0 }
    var arguments = [program] + wishes.arguments
    var variables: [String: String] = [:]
    let folder: String
    do throws(EnvironmentError) {
      folder = try TemporaryFolder.make()
    } catch {
      throw DioramaTestingError(.notStarted, error.message)
    }
    do {
      if let environment {
        let handover = try await environment.freshHandover(in: folder)
        variables = handover.variables
        variables.merge(Environment.proxyExceptions(inherited)) { $1 }
        if wishes.passesPairs { arguments += handover.arguments }
      }
      variables.merge(wishes.variables) { $1 }
      let spawn = Spawn(
        arguments: arguments.map { Array($0.utf8) }, environment: InheritedVariables.all(overridden: variables))
      let process = try LaunchedProcess(spawn, folder: folder)
      settings.withLock { $0.process = process }
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      if let error = error as? NotStarted { throw DioramaTestingError(.notStarted, error.message) }
      throw error
    }
    // One that is launched outside is ended with the test all the same, where there is an environment to do it.
    (environment ?? (try? TestEnvironment.current))?.adopt(self)
  }

  /// Ends the program and what it started: asks it to (SIGTERM), and after 5 s makes it (SIGKILL). Returns once it is
  /// gone and all that it said has come; at once when it does not run.
  public func terminate() async {
    guard let process, process.ending == nil else { return }
    process.send(SIGTERM, isExpected: true)
    if await isOver(process, within: Self.grace) { return }
    process.send(SIGKILL, isExpected: true)
    _ = await isOver(process, within: .seconds(3600))
  }

  /// In a task of its own: a test that is cancelled leaves nothing behind either.
  private func isOver(_ process: LaunchedProcess, within timeout: Duration) async -> Bool {
    await Task.detached {
      do throws(LaunchedProcess.WaitFailure) {
        return try await process.wait(timeout: timeout) { $0.ending == nil ? nil : true }
      } catch {
        return false
      }
    }.value
  }
}
