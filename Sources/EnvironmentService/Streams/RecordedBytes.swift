import Cassettes
import HTTPMessages

/// Reads a recorded body from its beginning. A body in a file is not held in memory.
struct RecordedBytes: Sendable {
  private enum Source: Sendable {
    case bytes([UInt8])
    case file(FileBody)
  }

  /// The body's length in bytes.
  let length: Int
  private let source: Source
  private var position = 0

  /// - Throws: a ``CodedError`` of kind `broken` if the file is missing, or not as long as recorded.
  init(_ body: RecordedBody, in location: CassetteLocation) throws {
    length = body.length
    switch body {
    case .bytes(let bytes): source = .bytes(bytes)
    case .file(let name, let length):
      let file = try CassetteReader.file(name, length: length, in: location)
      source = .file(file)
    }
  }

  /// Reads up to `most` bytes. The result is empty only at the end.
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
