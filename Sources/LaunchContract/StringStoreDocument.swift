package import Basics
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
  /// - Throws: ``CodedError`` with the path if it cannot be read, is not a string store, or has a later format.
  package init(path: String) throws(CodedError) {
    do throws(CodedError) {
      let bytes = try ContractFile.read(path)
      let parts = RecordedEntries.split(bytes, at: ["entries"])
      self = try JSON.decode(Self.self, from: parts?.rest ?? bytes, source: path)
      if let parts { entries = parts.entries }
      guard format == 1 else { throw CodedError(.broken, "format \(format) is not supported, only 1 is") }
    } catch {
      throw .contract("the string store \(path): \(error.problem)")
    }
  }
}

/// A value of the string store, at the index of its ordinal.
package struct StringEntry: Sendable, Equatable {
  /// The value: a UUID in lower case, an integer in decimal, others as ``StringParameters`` specifies.
  package var value: String
  /// The requested kind of value.
  package var parameters: StringParameters

  package init(value: String, parameters: StringParameters) {
    self.value = value
    self.parameters = parameters
  }
}

extension StringEntry: Codable {
  private enum CodingKeys: String, CodingKey {
    case value
  }

  package init(from decoder: any Decoder) throws {
    value = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .value)
    parameters = try StringParameters(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try parameters.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(value, forKey: .value)
  }
}

/// Parses a document's recorded values separately: there may be thousands, the app waits for them at launch, and
/// `JSONDecoder` takes some microseconds for each.
enum RecordedEntries {
  /// A document split from its entries.
  struct Parts {
    /// The document with `{}` in place of the entries.
    var rest: Data
    var entries: [String: [StringEntry?]]
  }

  /// Splits the entries from a document.
  ///
  /// - Parameters:
  ///   - document: the JSON.
  ///   - path: the members that lead to the entries.
  /// - Returns: nil if there are no entries or anything is invalid; decoding the whole document then reports the problem.
  static func split(_ document: Data, at path: [String]) -> Parts? {
    document.withUnsafeBytes { bytes in
      var reader = JSONReader(bytes)
      var parts: Parts?
      do {
        parts = try find(path[...], document, &reader)
        try reader.end()
      } catch {
        return nil
      }
      return parts
    }
  }

  private static func find(
    _ path: ArraySlice<String>, _ document: Data, _ reader: inout JSONReader
  ) throws(CodedError) -> Parts? {
    guard let name = path.first else {
      _ = reader.peek()
      let start = reader.offset
      guard let entries = try entries(document, &reader) else { return nil }
      let rest = document.prefix(start) + Data("{}".utf8) + document.dropFirst(reader.offset)
      return Parts(rest: rest, entries: entries)
    }
    guard reader.peek() == UInt8(ascii: "{") else {
      _ = try reader.value()
      return nil
    }
    var found: Parts?
    var count = 0
    var members = try reader.beginObject()
    while let key = try reader.nextKey(&members) {
      if key == name {
        count += 1
        found = try find(path.dropFirst(), document, &reader)
      } else {
        _ = try reader.value()
      }
    }
    return count == 1 ? found : nil
  }

  private static func entries(
    _ document: Data, _ reader: inout JSONReader
  ) throws(CodedError) -> [String: [StringEntry?]]? {
    var entries: [String: [StringEntry?]] = [:]
    var isWhole = true
    var keys = try reader.beginObject()
    while let key = try reader.nextKey(&keys) {
      var uses: [StringEntry?] = []
      var elements = try reader.beginArray()
      while try reader.nextElement(&elements) {
        _ = reader.peek()
        let start = reader.offset
        let value = try reader.value()
        if value == .null {
          uses.append(nil)
        } else if let entry = StringEntry(string: value) {
          uses.append(entry)
        } else if let entry = try? JSONDecoder().decode(
          StringEntry.self, from: document.dropFirst(start).prefix(reader.offset - start))
        {
          uses.append(entry)
        } else {
          isWhole = false
        }
      }
      if entries.updateValue(uses, forKey: key) != nil { isWhole = false }
    }
    return isWhole ? entries : nil
  }
}

extension StringEntry {
  /// An entry for a string, by far the most frequent kind; nil for others.
  fileprivate init?(string json: JSON) {
    guard json["type"] == nil, let value = json["value"]?.string, let length = json["length"]?.int,
      let alphabet = json["alphabet"]?.string
    else { return nil }
    self.init(value: value, parameters: .string(length: length, alphabet: alphabet))
  }
}
