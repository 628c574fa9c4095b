import EnvironmentConfiguration

extension TestEnvironment {
  /// What happens to old recordings, and to interactions that a replay does not use.
  ///
  /// A test's policies replace its suite's. Age is counted in days, from the recording date to the machine's date.
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
    public init(
      expiresAfterDays: Double? = nil, expired: Severity = .fail, rerecordAfterDays: Double? = nil,
      unused: Severity = .warn
    ) {
      configuration = .init(
        expiresAfterDays: expiresAfterDays, expired: expiresAfterDays == nil ? nil : expired.rawValue,
        rerecordAfterDays: rerecordAfterDays, unused: unused.rawValue)
    }
  }
}
