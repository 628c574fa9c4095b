import Foundation

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
      do throws(JSONError) {
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
  ) throws(JSONError) -> Parts? {
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
  ) throws(JSONError) -> [String: [StringEntry?]]? {
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
