import Cassettes
import Foundation

/// Takes fields out of a multipart body (RFC 2046, 5.1; RFC 7578) as it streams by: the content of a part goes by the
/// part's name, and what JSON paths find in a part that is JSON; headers and boundaries stay.
struct MultipartStream {
  /// Bytes of a part's header.
  private static let headerLimit = 64 << 10

  private enum Place {
    /// Before the first boundary, in a part's content, or after the last boundary.
    case content(Content)
    /// After a boundary: the rest of its line, and the part's header.
    case header
  }

  private enum Content {
    case passed
    case taken
    case json(JSONStream)
    /// What came before it could be told whether it is JSON, which its type does not say.
    case untold([UInt8])
  }

  private let names: Set<String>
  /// For a part that is JSON; nil where nothing is looked for in one.
  private let json: JSONStream?
  /// What stands before each part, and at the end: a line break, two dashes, the boundary.
  private let delimiter: [UInt8]
  private(set) var hasFound = false
  private var place = Place.content(.passed)
  private var held: [UInt8]

  /// Nil where the type names no boundary.
  ///
  /// - Parameters:
  ///   - contentType: of the whole.
  ///   - names: of parts that go.
  ///   - json: for each part that is JSON; nil where nothing is looked for in one.
  init?(contentType: String, names: Set<String>, json: JSONStream? = nil) {
    guard let boundary = Self.parameter("boundary", of: contentType), !boundary.isEmpty else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    self.names = names
    self.json = json
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
      case .content(let content):
        // Let go of, so that its buffers are not copied.
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
          hasFound = true
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

  /// Passes on what stays of a part's content.
  ///
  /// - Returns: how it goes on.
  private mutating func pass(
    _ bytes: ArraySlice<UInt8>, of content: Content, isLast: Bool, _ output: inout [UInt8]
  ) -> Content {
    switch content {
    case .passed: output += bytes
    case .taken: break
    case .json(var stream):
      output += stream.push(Array(bytes), isLast: isLast)
      hasFound = hasFound || stream.hasFound
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

  /// What is done with a part's content.
  private func content(behind header: ArraySlice<UInt8>) -> Content {
    var type: String?
    for line in String(decoding: header, as: UTF8.self).components(separatedBy: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      switch parts[0].trimmingCharacters(in: .whitespaces).lowercased() {
      case "content-disposition":
        if let name = Self.parameter("name", of: String(parts[1])), names.contains(name.lowercased()) { return .taken }
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
