#if DEBUG || Controlled
  import LaunchContract

  /// Random values as a launch contract wants them: derived, derived and reported, or read from a recording.
  final class ContractStrings: Sendable {
    private let policy: LaunchContract.Strings.Policy
    private let derivation: StringDerivation
    private let recorded: RecordedStrings
    private let connection: ControlConnection?
    private let reporter: UsageReporter?
    /// How often each key was used: counted here, in the app, so that threads disturb one key only.
    private let uses = Locked<[String: Int]>([:])

    /// - Parameters:
    ///   - strings: the contract's.
    ///   - seed: the contract's.
    ///   - connection: the environment; nil where nobody listens.
    ///   - reporter: told of what is read.
    /// - Throws: ``DioramaError`` when the store's file cannot be read, or when values are to be reported to nobody.
    init(
      _ strings: LaunchContract.Strings, seed: String, connection: ControlConnection?, reporter: UsageReporter?
    ) throws(DioramaError) {
      guard strings.policy != .report || connection != nil else {
        throw DioramaError(.contract, "launch contract: strings.policy is report, but there is no control to report to")
      }
      policy = strings.policy
      derivation = StringDerivation(seed: seed)
      recorded = try RecordedStrings(strings)
      self.connection = connection
      self.reporter = reporter
    }

    /// The next value of a key.
    ///
    /// - Parameters:
    ///   - key: one that has been checked.
    ///   - parameters: such as have been checked: what is refused is no use of the key.
    /// - Returns: the value, with its place in the string store.
    /// - Throws: ``DioramaError``: it is not recorded, or cannot be.
    func draw(key: String, _ parameters: StringParameters) throws(DioramaError) -> RecordedDraw {
      let ordinal = uses.withLock { uses in
        let ordinal = uses[key, default: 0]
        uses[key] = ordinal + 1
        return ordinal
      }
      let value =
        switch policy {
        case .derive: try derivation.value(key: key, ordinal: ordinal, parameters)
        case .report: try report(key: key, ordinal: ordinal, parameters)
        case .replay: try replay(key: key, ordinal: ordinal, parameters)
        }
      return RecordedDraw(key: key, ordinal: ordinal, value: value)
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

    /// Reads and never makes. What is read is told in the background; what is missing at once, so that the test knows
    /// even if the app hides it.
    private func replay(
      key: String, ordinal: Int, _ parameters: StringParameters
    ) throws(DioramaError) -> String {
      guard let value = recorded.value(key: key, ordinal: ordinal, parameters) else {
        let use = StringUse(key: key, ordinal: ordinal, status: .missing, value: nil, parameters: parameters)
        // Whether or not the report arrives, the value is missing, and that is what the app must hear.
        _ = try? connection?.report(use)
        throw recorded.missing(key: key, ordinal: ordinal, parameters)
      }
      reporter?.didRead(key: key, ordinal: ordinal)
      return value
    }
  }
#endif
