import Cassettes
import Foundation

/// Redacts parts of a multipart body (RFC 2046, section 5.1; RFC 7578) while it streams: the content of parts by name,
/// and values in JSON parts by path. Headers and boundaries stay.
struct MultipartStream {
  /// The maximum length of a part's header in bytes.
  private static let headerLimit = 64 << 10

  private enum Place {
    /// Before the first boundary, in the content of a part, or after the last boundary.
    case content(Content)
    /// After a boundary: the rest of its line, and the header of the part.
    case header
  }

  private enum Content {
    case passed
    case taken
    case json(JSONStream)
    /// The bytes received before it was known whether the part is JSON, because its type does not specify it.
    case untold([UInt8])
  }

  private let fields: SelectedFields
  /// The initial state for a JSON part; nil if nothing in JSON is redacted.
  private let json: JSONStream?
  /// The bytes before each part and at the end: a line break, two dashes, and the boundary.
  private let delimiter: [UInt8]
  private(set) var found = FoundFields()
  private var place = Place.content(.passed)
  private var held: [UInt8]

  /// Returns nil if the type has no boundary parameter.
  ///
  /// - Parameters:
  ///   - contentType: the type of the whole body.
  ///   - fields: the parts to redact.
  ///   - json: the initial state for each JSON part; nil if nothing in JSON is redacted.
  init?(contentType: String, fields: SelectedFields, json: JSONStream? = nil) {
    guard let boundary = Self.parameter("boundary", of: contentType), !boundary.isEmpty else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    self.fields = fields
    self.json = json
    // The first boundary has no line break before it, so one is added here.
    held = Array("\r\n".utf8)
  }

  /// The number of bytes of the added line break that still have to be removed from the output.
  private var added = 2

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    held += chunk
    var output: [UInt8] = []
    var start = 0
    scan: while true {
      switch place {
      case .content(let content):
        // Drop this reference so that the stream's buffers are not copied.
        place = .header
        guard let found = Self.find(delimiter, in: held, from: start) else {
          let end = isLast ? held.count : max(start, held.count - delimiter.count + 1)
          place = .content(pass(held[start..<end], of: content, isLast: isLast, &output))
          start = end
          break scan
        }
        _ = pass(held[start..<found], of: content, isLast: true, &output)
        output += delimiter
        start = found + delimiter.count
        place = .header
      case .header:
        let rest = held[start...]
        if rest.starts(with: "--".utf8) {
          place = .content(.passed)
          continue
        }
        guard let end = Self.find(Array("\r\n\r\n".utf8), in: held, from: start) else {
          guard isLast || rest.count > Self.headerLimit else { break scan }
          output += rest
          start = held.count
          place = .content(.passed)
          continue
        }
        output += held[start..<(end + 4)]
        let content = content(behind: held[start..<end])
        if case .taken = content {
          output += RedactionMark.plain.text.utf8
        }
        start = end + 4
        place = .content(content)
      }
    }
    held.removeFirst(start)
    let ours = min(added, output.count)
    added -= ours
    output.removeFirst(ours)
    return output
  }

  /// Writes out content of a part, redacted if necessary.
  ///
  /// - Returns: the state of the content afterwards.
  private mutating func pass(
    _ bytes: ArraySlice<UInt8>, of content: Content, isLast: Bool, _ output: inout [UInt8]
  ) -> Content {
    switch content {
    case .passed: output += bytes
    case .taken: break
    case .json(var stream):
      output += stream.push(Array(bytes), isLast: isLast)
      found.add(stream.found)
      return .json(stream)
    case .untold(let before):
      let all = before + bytes
      guard let begins = JSONStream.begins(all) else {
        guard isLast || all.count > 4096 else { return .untold(all) }
        output += all
        return .passed
      }
      return pass(all[...], of: json.flatMap { begins ? .json($0) : nil } ?? .passed, isLast: isLast, &output)
    }
    return content
  }

  /// How to handle the content of a part.
  private mutating func content(behind header: ArraySlice<UInt8>) -> Content {
    var type: String?
    for line in String(decoding: header, as: UTF8.self).components(separatedBy: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      switch parts[0].trimmingCharacters(in: .whitespaces).lowercased() {
      case "content-disposition":
        if let name = Self.parameter("name", of: String(parts[1])), fields.contains(name) {
          found.add(name)
          return .taken
        }
      case "content-type": type = parts[1].trimmingCharacters(in: .whitespaces)
      default: break
      }
    }
    guard let json else { return .passed }
    switch BodyKind(contentType: type) {
    case .json: return .json(json)
    case .unsaid: return .untold([])
    default: return .passed
    }
  }

  /// The value of a parameter, without quotation marks.
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
