#if DEBUG || Controlled
  import LaunchContract

  /// Random values as a launch contract wants them: derived, derived and reported, or read from a recording.
  final class ContractStrings: Sendable {
    private let policy: LaunchContract.Strings.Policy
    private let derivation: StringDerivation
    private let recorded: RecordedStrings
    private let connection: ControlConnection?
    /// How often each key was used: counted here, in the app, so that threads disturb one key only.
    private let uses = Locked<[String: Int]>([:])

    /// - Throws: ``DioramaError`` when the store's file cannot be read, or when values are to be reported to nobody.
    init(_ strings: LaunchContract.Strings, seed: String, connection: ControlConnection?) throws(DioramaError) {
      guard strings.policy != .report || connection != nil else {
        throw DioramaError(.contract, "launch contract: strings.policy is report, but there is no control to report to")
      }
      policy = strings.policy
      derivation = StringDerivation(seed: seed)
      recorded = try RecordedStrings(strings)
      self.connection = connection
    }

    func value(key: String, _ parameters: StringParameters) throws(DioramaError) -> String {
      try StringDerivation.check(key: key)
      let ordinal = uses.withLock { uses in
        defer { uses[key, default: 0] += 1 }
        return uses[key, default: 0]
      }
      switch policy {
      case .derive: return try derivation.value(key: key, ordinal: ordinal, parameters)
      case .report: return try report(key: key, ordinal: ordinal, parameters)
      case .replay: return try replay(key: key, ordinal: ordinal, parameters)
      }
    }

    /// The value is in the environment's store before the app has it; what the environment answers counts.
    private func report(
      key: String, ordinal: Int, _ parameters: StringParameters
    ) throws(DioramaError) -> String {
      let known = recorded.value(key: key, ordinal: ordinal, parameters)
      let value: String
      if let known { value = known } else { value = try derivation.value(key: key, ordinal: ordinal, parameters) }
      let use = StringUse(
        key: key, ordinal: ordinal, status: known == nil ? .recorded : .read, value: value, parameters: parameters)
      let answer = try connection?.report(use)
      return answer?.value ?? value
    }

    /// Reads and never makes; what is missing is reported first, so that the test knows even if the app hides it.
    private func replay(
      key: String, ordinal: Int, _ parameters: StringParameters
    ) throws(DioramaError) -> String {
      let value = recorded.value(key: key, ordinal: ordinal, parameters)
      let use = StringUse(
        key: key, ordinal: ordinal, status: value == nil ? .missing : .read, value: value, parameters: parameters)
      guard let value else {
        // Whether or not the report arrives, the value is missing, and that is what the app must hear.
        _ = try? connection?.report(use)
        throw recorded.missing(key: key, ordinal: ordinal, parameters)
      }
      _ = try connection?.report(use)
      return value
    }
  }
#endif
