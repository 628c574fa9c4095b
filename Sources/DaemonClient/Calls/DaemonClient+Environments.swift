package import ControlAPI

extension DaemonClient {
  /// Sees that the daemon answers.
  package func health() async throws(DaemonClientError) -> Health { try await call("GET", "/v1/health") }

  /// Makes an environment.
  package func provision(_ request: ProvisioningRequest) async throws(DaemonClientError) -> ProvisionedEnvironment {
    try await call("POST", "/v1/environments", sending: request)
  }

  /// What runs, without contracts.
  package func environments() async throws(DaemonClientError) -> [ProvisionedEnvironment] {
    try await call("GET", "/v1/environments", as: EnvironmentList.self).environments
  }

  /// One environment, with its contract as it is now.
  package func environment(_ id: String) async throws(DaemonClientError) -> ProvisionedEnvironment {
    try await call("GET", Self.path(of: id))
  }

  /// Changes toggles, values, clock and mode; returns once every app has applied it.
  package func change(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonClientError) -> Revision {
    try await call("PATCH", Self.path(of: id), sending: patch, patience: Self.patience(beside: patch.timeoutSeconds))
  }

  /// Moves the clock; returns once every app has applied it.
  package func moveClock(
    _ id: String, _ move: ClockMoveRequest
  ) async throws(DaemonClientError) -> ClockMoveAnswer {
    try await call(
      "POST", Self.path(of: id) + "/clock", sending: move, patience: Self.patience(beside: move.timeoutSeconds))
  }

  /// Journal entries after a number.
  package func journal(_ id: String, after: Int = 0) async throws(DaemonClientError) -> JournalPage {
    try await call("GET", Self.path(of: id) + "/journal?after=\(after)")
  }

  /// The report so far.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - type: what it is read as.
  /// - Returns: the report.
  /// - Throws: ``DaemonClientError``.
  package func report<Report: Decodable & Sendable>(
    _ id: String, as type: Report.Type
  ) async throws(DaemonClientError) -> Report {
    try await call("GET", Self.path(of: id) + "/report")
  }

  /// Ends an environment.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - keepsEmptyRecording: whether a recording of nothing at all becomes a cassette.
  ///   - type: what the report is read as.
  /// - Returns: the report.
  /// - Throws: ``DaemonClientError``.
  package func end<Report: Decodable & Sendable>(
    _ id: String, keepingEmptyRecording keepsEmptyRecording: Bool = true, as type: Report.Type
  ) async throws(DaemonClientError) -> Report {
    // Sealing a long recording takes its time.
    try await call(
      "DELETE", Self.path(of: id) + (keepsEmptyRecording ? "" : "?keepEmptyRecording=false"), patience: .seconds(300))
  }

  /// A segment of a path holds what people type, so that a stray slash or question mark is told as no such environment.
  private static func path(of id: String) -> String {
    let bytes = id.utf8.map { byte -> String in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"):
        return String(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
    return "/v1/environments/" + bytes.joined()
  }

  private static func patience(beside seconds: Double?) -> Duration {
    let seconds = seconds ?? 30
    return patience + .seconds(seconds > 0 ? min(seconds, 1e9) : 0)
  }
}
