import Basics
import Cassettes
import Foundation
import LaunchContract

/// The lines of the append-only file beside a cassette that is being recorded.
///
/// Each line is a JSON object: first the header, then acknowledged strings and interactions, with the number of their
/// request. Only complete lines count; an incomplete last line was never acknowledged.
enum PartialLine {
  /// What a recording does with an existing cassette.
  enum Purpose: String {
    /// Replaces it.
    case record
    /// Adds to it.
    case extend
  }

  static func header(_ header: CassetteHeader, purpose: Purpose) -> [UInt8] {
    let header = HAR.headerLine(header).dropLast()
    return Array("{\"purpose\":\"\(purpose.rawValue)\",\"header\":".utf8) + header + Array("}\n".utf8)
  }

  /// The recording id of the cassette made from this file. It is written before the cassette is replaced, so that after
  /// a crash the files show which step was the last.
  static func sealing(_ recording: String) -> [UInt8] {
    Array("{\"sealing\":\"\(recording)\"}\n".utf8)
  }

  static func interaction(_ interaction: Interaction, number: Int) -> [UInt8] {
    var writer = JSONWriter(style: .compact, capacity: 4096)
    writer.object { line in
      line.member("number", number: "\(number)")
      line.member("entry") { HAR.encode(interaction, to: &$0) }
    }
    return writer.output + [0x0A]
  }

  static func string(_ entry: StringStoreFile.Entry, key: String, ordinal: Int) -> [UInt8] {
    // Encoding texts and numbers cannot fail.
    let data = (try? JSON.encode(StringLine(string: key, ordinal: ordinal, entry: entry))) ?? Data()
    return Array(data) + [0x0A]
  }

  struct StringLine: Codable {
    var string: String
    var ordinal: Int
    var entry: StringEntry
  }
}

/// The contents of the partial file of a killed recording, or of one that is ending.
struct PartialFile {
  /// An interaction's position in the file.
  struct Place {
    /// The number of its request, which determines its position in the HAR.
    let number: Int
    /// The range of its entry in ``bytes``.
    let range: Range<Int>
  }

  /// The file's content.
  let bytes: Data
  /// What the recording does with an existing cassette.
  let purpose: PartialLine.Purpose
  /// The recording's header.
  let header: CassetteHeader
  /// Acknowledged interactions, in the order of their requests.
  let places: [Place]
  /// Acknowledged strings by key and ordinal.
  let strings: [String: [Int: StringStoreFile.Entry]]
  /// The recording id of the cassette, if saving had begun.
  let sealing: String?
  /// The length in bytes up to the end of the last complete line.
  let wholeLength: Int

  /// Reads the partial file of a cassette.
  ///
  /// - Returns: nil if there is none, or if nothing in it was acknowledged, not even its header.
  /// - Throws: a ``CodedError`` if it cannot be read.
  init?(of location: CassetteLocation) throws(CodedError) {
    do { bytes = try InputFile(location.partial, followsLinks: false).map(atMost: 16 << 30) } catch {
      if error.isMissing { return nil }
      throw CodedError(.inputOutput, "cannot read \(location.partial): \(error); fix it, or remove the file")
    }
    var purpose: PartialLine.Purpose?
    var header: CassetteHeader?
    var places: [Place] = []
    var strings: [String: [Int: StringStoreFile.Entry]] = [:]
    var sealing: String?
    var wholeLength = 0
    do {
      try bytes.withUnsafeBytes { all in
        var start = 0
        var line = 1
        while let end = Self.endOfLine(in: all, from: start) {
          let text = UnsafeRawBufferPointer(rebasing: all[start..<end])
          if let range = Self.payload(of: text, after: "{\"number\":", member: ",\"entry\":") {
            places.append(
              Place(
                number: range.number, range: (start + range.payload.lowerBound)..<(start + range.payload.upperBound)))
          } else {
            try Self.readOther(
              text, name: "\(location.partial):\(line)", purpose: &purpose, header: &header, strings: &strings,
              sealing: &sealing)
          }
          start = end + 1
          line += 1
        }
        wholeLength = start
      }
    } catch {
      throw CodedError(.broken, "\(error); move the file away and re-record")
    }
    guard let purpose, let header else {
      guard places.isEmpty, strings.isEmpty else {
        throw CodedError(
          .broken, "\(location.partial): the first line is not a recording's header; move the file away and re-record")
      }
      return nil
    }
    self.purpose = purpose
    self.header = header
    self.places = places.sorted { $0.number < $1.number }
    self.strings = strings
    self.sealing = sealing
    self.wholeLength = wholeLength
  }

  /// The maximum length in bytes of the first line, the header. A file that begins with a longer line is not a
  /// recording, so reading stops there.
  private static let headerLimit = 16 << 20

  /// The end of a line; nil if it is incomplete.
  private static func endOfLine(in all: UnsafeRawBufferPointer, from start: Int) -> Int? {
    let count = min(all.count, start == 0 ? headerLimit : .max) - start
    guard count > 0, let base = all.baseAddress, let end = memchr(base + start, 0x0A, count) else { return nil }
    return UnsafeRawPointer(end) - base
  }

  /// Whether nothing was acknowledged.
  var isEmpty: Bool { places.isEmpty && strings.isEmpty }

  /// How many strings were acknowledged.
  var stringCount: Int { strings.values.reduce(0) { $0 + $1.count } }

  /// Whether the cassette was already saved from this file, which only remained to be removed.
  func isSealed(as location: CassetteLocation) -> Bool {
    guard let sealing, let stored = try? CassetteReader.read(location) else { return false }
    return stored.cassette.header.recording == sealing
  }

  /// Reads one interaction.
  func interaction(at place: Place, of location: CassetteLocation) throws(CodedError) -> Interaction {
    do {
      return try bytes.withUnsafeBytes { all in
        try HAR.interaction(line: UnsafeRawBufferPointer(rebasing: all[place.range]))
      }
    } catch {
      throw CodedError(.broken, "\(location.partial): \(error); move the file away and re-record")
    }
  }

  /// Splits a line with a fixed form, without parsing its payload.
  private static func payload(
    of line: UnsafeRawBufferPointer, after prefix: StaticString, member: StaticString
  ) -> (number: Int, payload: Range<Int>)? {
    let prefix = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
    let member = UnsafeRawBufferPointer(start: member.utf8Start, count: member.utf8CodeUnitCount)
    guard line.starts(with: prefix) else { return nil }
    var index = prefix.count
    var number = 0
    while index < line.count, line[index] &- 0x30 < 10, number < 1 << 40 {
      number = number * 10 + Int(line[index] - 0x30)
      index += 1
    }
    let payload = index + member.count
    guard line[index...].starts(with: member), payload < line.count else { return nil }
    return (number, payload..<(line.count - 1))
  }

  private static func readOther(
    _ line: UnsafeRawBufferPointer, name: String, purpose: inout PartialLine.Purpose?, header: inout CassetteHeader?,
    strings: inout [String: [Int: StringStoreFile.Entry]], sealing: inout String?
  ) throws {
    let json = try CodedError.translating(at: name, try JSON.parse(line))
    if let text = json["purpose"]?.string, let value = json["header"] {
      guard let known = PartialLine.Purpose(rawValue: text) else {
        throw CodedError(.broken, "\(name): the purpose '\(text)' is of a later version")
      }
      purpose = known
      header = try value.encoded().withUnsafeBytes { try HAR.header(line: $0, name: name) }
    } else if let recording = json["sealing"]?.string {
      sealing = recording
    } else if json["string"] != nil {
      let string = try JSON.decode(PartialLine.StringLine.self, from: Data(line), source: name)
      guard 0..<StringLedger.ordinalLimit ~= string.ordinal else {
        throw CodedError(.broken, "\(name): \(string.ordinal) is not a valid ordinal")
      }
      strings[string.string, default: [:]][string.ordinal] = string.entry
    } else {
      throw CodedError(.broken, "\(name): not a line of a recording")
    }
  }
}
