import DioramaTesting
import Foundation

/// A shell that runs a script, with further words as its `$1` and so on.
func shell(_ script: String, _ words: String..., in context: TestApplication.LaunchContext = .outside)
  -> TestApplication
{
  let app = TestApplication(executable: "/bin/sh", in: context)
  app.launchArguments = ["-c", script, "sh"] + words
  return app
}

/// A running clinic-backend, in no environment.
struct Backend {
  let url: String
  let app: TestApplication

  init(now: String = "2018-10-08T09:00:00Z") async throws {
    app = TestApplication(executable: "clinic-backend", in: .outside)
    app.launchArguments = ["--now", now]
    try await app.launch()
    url = try await app.wait(forOutput: /http:\/\/127\.0\.0\.1:\d+/)
  }
}

/// Launches the clinic app and waits until it has booked.
func book(in context: TestApplication.LaunchContext = .current) async throws -> TestApplication {
  let app = TestApplication(executable: "clinic", in: context)
  app.launchArguments = ["book"]
  try await app.launch()
  try await app.wait(for: .exited(0))
  return app
}
