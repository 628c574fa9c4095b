import Foundation

/// `NAME.strings.json`: the random inputs of one recording, by key and ordinal.
package struct StringStoreDocument: Codable, Sendable, Equatable {
  /// 1.
  package var format: Int
  /// How the values were made; they are read back, so that any will do in replay.
  package var algorithm: String
  /// The seed they were made from.
  package var seed: String
  /// The recording id that the HAR beside it has too; nil in a store written by hand.
  package var recording: String?
  /// By key, then by ordinal; nil where an ordinal was never used.
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

  /// Reads a store from its file.
  ///
  /// - Throws: ``ContractError`` naming the path, when it cannot be read, is no string store, or is of a later format.
  package init(path: String) throws(ContractError) {
    do throws(ContractError) {
      let bytes = try ContractFile.read(path)
      let parts = RecordedEntries.split(bytes, at: ["entries"])
      self = try ContractJSON.decode(Self.self, from: parts?.rest ?? bytes, source: path)
      if let parts { entries = parts.entries }
      guard format == 1 else { throw ContractError("format \(format) is not known here, only 1 is") }
    } catch {
      throw ContractError("the string store \(path): \(error.problem)")
    }
  }
}
