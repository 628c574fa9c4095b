import DioramaTesting
import TestSupport

extension RunningDaemon {
  var host: TestEnvironment.Host { .daemon(stateFolder: folder) }

  /// What a command says of it.
  func diorama(_ words: String...) async throws -> String {
    let app = TestApplication(executable: "diorama", in: .outside)
    app.launchArguments = words + ["--state", folder]
    try await app.launch()
    try await app.wait(for: .exited(0))
    return app.standardOutput
  }
}
