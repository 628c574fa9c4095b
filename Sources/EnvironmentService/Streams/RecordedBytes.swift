import Cassettes
import HTTPMessages

/// The bytes of a recorded body, from its beginning, without holding those that lie in a file.
struct RecordedBytes: Sendable {
  private enum Source: Sendable {
    case bytes([UInt8])
    case file(FileBody)
  }

  /// How many there are in all.
  let length: Int
  private let source: Source
  private var position = 0

  /// - Throws: a ``CodedError`` `broken` where the file is missing, or not as long as recorded.
  init(_ body: RecordedBody, in location: CassetteLocation) throws {
    length = body.length
    switch body {
    case .bytes(let bytes): source = .bytes(bytes)
    case .file(let name, let length):
      let file = try CassetteReader.file(name, length: length, in: location)
      source = .file(file)
    }
  }

  /// The next bytes: at most so many, and at least one unless there are no more.
  mutating func next(_ most: Int) throws -> [UInt8] {
    switch source {
    case .bytes(let bytes):
      let part = bytes[position...].prefix(most)
      position += part.count
      return [UInt8](part)
    case .file(let file):
      let part = try file.read(at: position, upTo: most)
      position += part.count
      return part
    }
  }
}
