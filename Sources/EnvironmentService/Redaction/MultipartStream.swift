import Foundation

/// Takes fields out of a multipart form (RFC 7578) as it streams by: the content of a part goes by the part's name, its
/// header and the boundaries stay.
struct MultipartStream {
  /// Bytes of a part's header.
  private static let headerLimit = 64 << 10

  private enum Place {
    /// Before the first boundary, in a part's content, or after the last boundary.
    case content(goes: Bool)
    /// After a boundary: the rest of its line, and the part's header.
    case header
  }

  private let names: Set<String>
  /// What stands before each part, and at the end: a line break, two dashes, the boundary.
  private let delimiter: [UInt8]
  private(set) var hasFound = false
  private var place = Place.content(goes: false)
  private var held: [UInt8]

  /// - Returns: nil where the type names no boundary.
  init?(contentType: String, names: Set<String>) {
    guard let boundary = Self.parameter("boundary", of: contentType), !boundary.isEmpty else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    self.names = names
    // The first boundary has no line before it.
    held = Array("\r\n".utf8)
  }

  /// Bytes of that line break that have still to be taken away.
  private var added = 2

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    held += chunk
    var output: [UInt8] = []
    var start = 0
    scan: while true {
      switch place {
      case .content(let goes):
        guard let found = Self.find(delimiter, in: held, from: start) else {
          let end = isLast ? held.count : max(start, held.count - delimiter.count + 1)
          if !goes { output += held[start..<end] }
          start = end
          break scan
        }
        if !goes { output += held[start..<found] }
        output += delimiter
        start = found + delimiter.count
        place = .header
      case .header:
        let rest = held[start...]
        if rest.starts(with: "--".utf8) {
          place = .content(goes: false)
          continue
        }
        guard let end = Self.find(Array("\r\n\r\n".utf8), in: held, from: start) else {
          guard isLast || rest.count > Self.headerLimit else { break scan }
          output += rest
          start = held.count
          place = .content(goes: false)
          continue
        }
        output += held[start..<(end + 4)]
        let goes = isNamed(held[start..<end])
        if goes {
          hasFound = true
          output += RedactionMark.plain.text.utf8
        }
        start = end + 4
        place = .content(goes: goes)
      }
    }
    held.removeFirst(start)
    let ours = min(added, output.count)
    added -= ours
    output.removeFirst(ours)
    return output
  }

  private func isNamed(_ header: ArraySlice<UInt8>) -> Bool {
    for line in String(decoding: header, as: UTF8.self).components(separatedBy: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces).lowercased() == "content-disposition"
      else { continue }
      return Self.parameter("name", of: String(parts[1])).map { names.contains($0.lowercased()) } ?? false
    }
    return false
  }

  /// A parameter's value, out of its quotes.
  private static func parameter(_ name: String, of value: String) -> String? {
    for part in value.split(separator: ";").dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces).lowercased() == name else { continue }
      let text = pair[1].trimmingCharacters(in: .whitespaces)
      return text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
    return nil
  }

  private static func find(_ needle: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes -> Int? in
      guard let base = bytes.baseAddress else { return nil }
      var place = start
      while place + needle.count <= bytes.count {
        guard let first = memchr(base + place, Int32(needle[0]), bytes.count - needle.count - place + 1) else {
          return nil
        }
        place = UnsafeRawPointer(first) - base
        if memcmp(base + place, needle, needle.count) == 0 { return place }
        place += 1
      }
      return nil
    }
  }
}
