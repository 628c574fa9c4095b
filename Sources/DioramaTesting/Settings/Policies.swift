import EnvironmentConfiguration

extension TestEnvironment {
  /// What happens to old recordings, unused interactions, and tests that fail.
  ///
  /// A test's policies outrank its suite's. Age is counted in days, from the recording date to the machine's date.
  ///
  /// ```swift
  /// @Suite(.environment(policies: .init(expiresAfterDays: 30, expired: .warn, unused: .fail)))
  /// struct BookingTests { … }
  /// ```
  public struct Policies: Sendable, Equatable {
    /// How to report something that need not be an error.
    public enum Severity: String, CaseIterable, Sendable {
      /// Print a warning on standard error; the test continues.
      case warn
      /// Fail the test.
      case fail
    }

    /// What to do with the recording of a test that failed.
    public enum FailedRecording: String, CaseIterable, Sendable {
      /// Keep it beside the cassette, as `NAME.failed.har`. The cassette stays as it was.
      case aside
      /// Make it the cassette.
      case replace
    }

    let configuration: EnvironmentConfiguration.Policies

    /// Creates policies. All parameters are optional.
    ///
    /// - Parameters:
    ///   - expiresAfterDays: days after which a recording expires, 0.01 to 36525; nil for never. Any other number
    ///     fails the test when the environment is provisioned.
    ///   - expired: whether an expired recording fails the test before it begins, or only causes a warning.
    ///   - rerecordAfterDays: days after which mode `once` re-records; nil for never. Mode `replay`, and `once`
    ///     if the variable `CI` is set, print a note instead.
    ///   - unused: how to report interactions that a replay did not use.
    ///   - failedRecording: what to do with the recording of a test that failed.
    ///   - allowNoRequests: whether a test that launches an app may see no request though upstreams are declared.
    ///     Otherwise it fails, because an app that ignores its endpoints talks to the live backend.
    ///   - allowUpstreamFailures: whether a recording may succeed though it lacks a response: an upstream failed, the app
    ///     made a request to an undeclared host, or it cancelled a request.
    public init(
      expiresAfterDays: Double? = nil, expired: Severity = .fail, rerecordAfterDays: Double? = nil,
      unused: Severity? = nil, failedRecording: FailedRecording? = nil, allowNoRequests: Bool? = nil,
      allowUpstreamFailures: Bool? = nil
    ) {
      configuration = .init(
        expiresAfterDays: expiresAfterDays, expired: expiresAfterDays == nil ? nil : expired.rawValue,
        rerecordAfterDays: rerecordAfterDays, unused: unused?.rawValue, failedRecording: failedRecording?.rawValue,
        allowNoRequests: allowNoRequests, allowUpstreamFailures: allowUpstreamFailures)
    }
  }
}
