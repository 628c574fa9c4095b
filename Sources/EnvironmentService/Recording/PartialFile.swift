import Basics
import Cassettes
import Foundation
import LaunchContract

/// The lines of the append-only file beside a cassette that is being recorded.
///
/// One JSON object a line: first the header, then interactions with the number of their request, and strings, each
/// as it was acknowledged. A line counts once its end is there; what follows the last one was never acknowledged.
enum PartialLine {
  /// What a recording does with the cassette that is there.
  enum Purpose: String {
    /// Takes its place.
    case record
    /// Is added to it.
    case extend
  }

  static func header(_ header: CassetteHeader, purpose: Purpose) -> [UInt8] {
    wrap("{\"purpose\":\"\(purpose.rawValue)\",\"header\":", HAR.headerLine(header))
  }

  /// The recording id that a cassette made of this file gets. Written before anything takes the cassette's place, so
  /// that whoever comes after a crash in the middle can tell how far it had come.
  static func sealing(_ recording: String) -> [UInt8] {
    Array("{\"sealing\":\"\(recording)\"}\n".utf8)
  }

  static func interaction(_ interaction: Interaction, number: Int) -> [UInt8] {
    wrap("{\"number\":\(number),\"entry\":", HAR.line(interaction))
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

  private static func wrap(_ prefix: String, _ line: [UInt8]) -> [UInt8] {
    Array(prefix.utf8) + (line.last == 0x0A ? line.dropLast() : line[...]) + Array("}\n".utf8)
  }
}

/// What a recording that was killed has left, or what one that ends has gathered.
struct PartialFile {
  /// An interaction's place in the file.
  struct Place {
    /// The number of its request: the order in which the HAR has it.
    let number: Int
    /// Where its entry stands in ``bytes``.
    let range: Range<Int>
  }

  /// The file's content.
  let bytes: Data
  /// What was to become of it.
  let purpose: PartialLine.Purpose
  /// The header of the recording.
  let header: CassetteHeader
  /// Acknowledged interactions, in the order of their requests.
  let places: [Place]
  /// Acknowledged strings by key and ordinal.
  let strings: [String: [Int: StringStoreFile.Entry]]
  /// The recording id of a seal that was begun.
  let sealing: String?
  /// Bytes up to the last whole line.
  let wholeLength: Int

  /// Reads the partial file of a cassette.
  ///
  /// - Returns: nil when there is none, or when nothing in it was acknowledged, not even its header.
  /// - Throws: a ``CodedError`` when it is there and cannot be read.
  init?(of location: CassetteLocation) throws(CodedError) {
    do throws(CodedError) {
      bytes = try InputFile(location.partial, followsLinks: false).map(atMost: 16 << 30)
    } catch {
      if error.isMissing { return nil }
      throw CodedError(.inputOutput, "cannot read \(location.partial): \(error); fix that, or remove it")
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
      throw CodedError(.broken, "\(error); move the file away to record anew")
    }
    guard let purpose, let header else {
      guard places.isEmpty, strings.isEmpty else {
        throw CodedError(
          .broken, "\(location.partial): the first line is not that of a recording; move the file away to record anew")
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

  /// The most bytes of the first line, which has the header: what begins with a longer one is no recording, and need not be
  /// looked through.
  private static let headerLimit = 16 << 20

  /// Where a line ends; nil for one that does not.
  private static func endOfLine(in all: UnsafeRawBufferPointer, from start: Int) -> Int? {
    let count = min(all.count, start == 0 ? headerLimit : .max) - start
    guard count > 0, let base = all.baseAddress, let end = memchr(base + start, 0x0A, count) else { return nil }
    return UnsafeRawPointer(end) - base
  }

  /// How many strings were acknowledged.
  var stringCount: Int { strings.values.reduce(0) { $0 + $1.count } }

  /// Whether the cassette has been made of this file already, and only removing the file was prevented.
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
      throw CodedError(.broken, "\(location.partial): \(error); move the file away to record anew")
    }
  }

  /// Takes a line apart whose shape is fixed, without parsing its payload.
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
    let json: JSON
    do {
      json = try JSON.parse(line)
    } catch {
      throw CodedError(.broken, "\(name): \(error)")
    }
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
        throw CodedError(.broken, "\(name): \(string.ordinal) is no ordinal")
      }
      strings[string.string, default: [:]][string.ordinal] = string.entry
    } else {
      throw CodedError(.broken, "\(name): not a line of a recording")
    }
  }
}
