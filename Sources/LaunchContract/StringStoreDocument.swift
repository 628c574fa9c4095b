import Foundation

/// `NAME.strings.json`: the random values of a recording, by key and ordinal.
package struct StringStoreDocument: Codable, Sendable, Equatable {
  /// 1.
  package var format: Int
  /// The algorithm that made the values. Replay reads the values, so any algorithm will do.
  package var algorithm: String
  /// The seed of the values.
  package var seed: String
  /// The recording ID, also in the HAR beside it; nil in a hand-written store.
  package var recording: String?
  /// By key and ordinal; nil for an unused ordinal.
  package var entries: [String: [StringEntry?]]

  package init(
    seed: String, recording: String? = nil, entries: [String: [StringEntry?]], format: Int = 1,
    algorithm: String = "uuid5-v1"
  ) {
    self.format = format
    self.algorithm = algorithm
    self.seed = seed
    self.recording = recording
    self.entries = entries
  }

  /// Reads a store from a file.
  ///
  /// - Throws: ``ContractError`` with the path if it cannot be read, is not a string store, or has a later format.
  package init(path: String) throws(ContractError) {
    do throws(ContractError) {
      let bytes = try ContractFile.read(path)
      let parts = RecordedEntries.split(bytes, at: ["entries"])
      self = try ContractJSON.decode(Self.self, from: parts?.rest ?? bytes, source: path)
      if let parts { entries = parts.entries }
      guard format == 1 else { throw ContractError("format \(format) is not supported, only 1 is") }
    } catch {
      throw ContractError("the string store \(path): \(error.problem)")
    }
  }
}
