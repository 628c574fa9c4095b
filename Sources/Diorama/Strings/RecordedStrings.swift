#if DEBUG || Controlled
  import LaunchContract

  /// The values of a recording, and the words for what is not among them.
  struct RecordedStrings: Sendable {
    private let entries: [String: [StringEntry?]]

    /// - Throws: ``DioramaError`` when the store's file cannot be read.
    init(_ strings: LaunchContract.Strings) throws(DioramaError) {
      if let entries = strings.entries {
        self.entries = entries
      } else if let file = strings.file {
        do {
          entries = try StringStoreDocument(path: file).entries
        } catch {
          throw DioramaError(error)
        }
      } else {
        entries = [:]
      }
    }

    /// The recorded value; nil where there is none, or one for other parameters.
    func value(key: String, ordinal: Int, _ parameters: StringParameters) -> String? {
      guard let entry = entry(key: key, ordinal: ordinal), entry.parameters == parameters else { return nil }
      return entry.value
    }

    /// Says what was asked for, what is recorded instead, and which keys come near.
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
          + "record it again (--mode record), or add to the recording (--mode extend)")
    }

    private func entry(key: String, ordinal: Int) -> StringEntry? {
      guard let uses = entries[key], uses.indices ~= ordinal else { return nil }
      return uses[ordinal]
    }
  }
#endif
