#if DEBUG || Controlled
  import Basics
  import LaunchContract

  /// The random values of a launch contract: derived, derived and reported, or read from a recording.
  final class ContractStrings: Sendable {
    private let policy: LaunchContract.Strings.Policy
    private let derivation: StringDerivation
    private let recorded: RecordedStrings
    private let connection: ControlConnection?
    private let reporter: UsageReporter?
    /// How often each key was used. Counted in the app, so that threads only affect each other if they share a key.
    private let uses = Guarded<[String: Int]>([:])

    /// - Parameters:
    ///   - strings: the contract's strings.
    ///   - seed: the contract's seed.
    ///   - connection: the connection to the environment, if any.
    ///   - reporter: reports the values that were read.
    /// - Throws: ``DioramaError`` if the store's file cannot be read, or if the policy is `report` without a connection.
    init(
      _ strings: LaunchContract.Strings, seed: String, connection: ControlConnection?, reporter: UsageReporter?
    ) throws(DioramaError) {
      guard strings.policy != .report || connection != nil else {
        throw DioramaError(.contract, "launch contract: strings.policy is report, which requires control")
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
    ///   - key: a valid key.
    ///   - parameters: valid parameters. Check them first: an invalid request must not count as a use of the key.
    /// - Returns: the value, with its key and ordinal.
    /// - Throws: ``DioramaError`` if the value is missing from the recording or cannot be stored.
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

    /// Stores the value in the environment before the app gets it. The environment's response has precedence.
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

    /// Reads a recorded value. Reports it in the background, but reports a missing value at once, so that the test knows
    /// of it even if the app hides the error.
    private func replay(
      key: String, ordinal: Int, _ parameters: StringParameters
    ) throws(DioramaError) -> String {
      guard let value = recorded.value(key: key, ordinal: ordinal, parameters) else {
        let use = StringUse(key: key, ordinal: ordinal, status: .missing, value: nil, parameters: parameters)
        // The value is missing whether or not the report arrives, and the app needs that error.
        _ = try? connection?.report(use)
        throw recorded.missing(key: key, ordinal: ordinal, parameters)
      }
      reporter?.didRead(key: key, ordinal: ordinal)
      return value
    }
  }

  /// The values of a recording.
  struct RecordedStrings: Sendable {
    private let entries: [String: [StringEntry?]]

    /// - Throws: ``DioramaError`` if the store's file cannot be read.
    init(_ strings: LaunchContract.Strings) throws(DioramaError) {
      if let entries = strings.entries {
        self.entries = entries
      } else if let file = strings.file {
        do { entries = try StringStoreDocument(path: file).entries } catch { throw DioramaError(error) }
      } else {
        entries = [:]
      }
    }

    /// The recorded value; nil if it is missing or was recorded with other parameters.
    func value(key: String, ordinal: Int, _ parameters: StringParameters) -> String? {
      guard let entry = entry(key: key, ordinal: ordinal), entry.parameters == parameters else { return nil }
      return entry.value
    }

    /// The error for a missing value: names the request, and what the recording has instead or the nearest keys.
    func missing(key: String, ordinal: Int, _ parameters: StringParameters) -> DioramaError {
      let recorded: String
      if let entry = entry(key: key, ordinal: ordinal) {
        recorded = "it was recorded as \(entry.parameters)"
      } else if let uses = entries[key]?.count {
        recorded =
          uses == 1 ? "that key was used once in the recording" : "that key was used \(uses) times in the recording"
      } else {
        let nearest = EditDistance.nearest(to: key, among: entries.keys).map { "\"\($0)\"" }
        recorded =
          nearest.isEmpty ? "nothing is recorded" : "the nearest recorded keys are \(nearest.joined(separator: ", "))"
      }
      return DioramaError(
        .missingString,
        "no random value is recorded for the key \"\(key)\", ordinal \(ordinal), \(parameters): \(recorded); "
          + "re-record it (--mode record), or add to the recording (--mode extend)")
    }

    private func entry(key: String, ordinal: Int) -> StringEntry? {
      guard let uses = entries[key], uses.indices ~= ordinal else { return nil }
      return uses[ordinal]
    }
  }
#endif
