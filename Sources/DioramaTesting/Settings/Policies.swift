import EnvironmentConfiguration

extension TestEnvironment {
  /// What is to become of a recording that has grown old, and of interactions that a replay leaves unused.
  ///
  /// Say it once, on a suite; a test's own policies take the place of the suite's. Age is counted from the recording
  /// date to now, both of the real environment, in days.
  ///
  /// ```swift
  /// @Suite(.environment(policies: .init(expiresAfterDays: 30, expired: .warn, unused: .fail)))
  /// struct BookingTests { … }
  /// ```
  public struct Policies: Sendable, Equatable {
    /// What to do about something that need not be wrong.
    public enum Severity: String, CaseIterable, Sendable {
      /// Print a warning on standard error; the test continues.
      case warn
      /// Fail the test.
      case fail
    }

    let configuration: EnvironmentConfiguration.Policies

    /// Policies; what is left out is as it is without any.
    ///
    /// - Parameters:
    ///   - expiresAfterDays: days after which a recording that is replayed has expired, 0.01 to 36525; nil: it never
    ///     does. Another number fails the test when the environment is provisioned.
    ///   - expired: whether an expired recording fails the test before it begins, or only causes a warning.
    ///   - recordsAnewAfterDays: days after which mode `once` re-records; nil: never. Mode `replay` never does, nor
    ///     does `once` if the variable `CI` is set: they print a note instead.
    ///   - unused: what about interactions that a replay has not used.
    public init(
      expiresAfterDays: Double? = nil, expired: Severity = .fail, recordsAnewAfterDays: Double? = nil,
      unused: Severity = .warn
    ) {
      configuration = .init(
        expiresAfterDays: expiresAfterDays, expired: expiresAfterDays == nil ? nil : expired.rawValue,
        recordsAnewAfterDays: recordsAnewAfterDays, unused: unused.rawValue)
    }
  }
}
