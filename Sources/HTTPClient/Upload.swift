import HTTPMessages

/// A request's body as curl reads it, on curl's thread.
///
/// The bytes of a stream are kept as long as they are few, so that curl can send them again when a kept connection
/// turns out to be closed.
struct Upload {
  /// What a read found.
  enum Part {
    /// So many bytes; 0: the end.
    case bytes(Int)
    /// Nothing yet.
    case later
    case failed(any Error)
  }

  /// The stream that is not at its end yet.
  let pipe: BytePipe?
  /// The file that has all of it.
  private let file: FileBody?
  /// In bytes, where it is known.
  let length: Int?
  /// The bytes at hand, of which `position` have been read.
  private var bytes: [UInt8]
  private var position = 0
  /// All bytes that curl has got.
  private var sent = 0
  private var canRewind = true

  private static let rewindLimit = 65_536

  init(_ body: Body) {
    switch body {
    case .bytes(let bytes):
      self.bytes = bytes
      pipe = nil
      file = nil
      length = bytes.count
    case .stream(let pipe, let length):
      bytes = []
      self.pipe = pipe
      file = nil
      self.length = length
    case .file(let file):
      bytes = []
      pipe = nil
      self.file = file
      length = file.length
    }
  }

  /// All of the body where it is at hand.
  var whole: [UInt8]? { pipe == nil && file == nil ? bytes : nil }

  /// Reads on.
  ///
  /// Never hands out more than the length that was announced: the rest would be taken for another request.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Part {
    let room = length.map { min(buffer.count, $0 - sent) } ?? buffer.count
    guard room > 0 else { return .bytes(0) }
    let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
    if position < bytes.count {
      let count = min(room, bytes.count - position)
      bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[position..<(position + count)])) }
      position += count
      sent += count
      return .bytes(count)
    }
    if let file {
      do {
        let count = try file.read(at: sent, into: buffer)
        sent += count
        return .bytes(count)
      } catch {
        return .failed(error)
      }
    }
    guard let pipe else { return .bytes(0) }
    switch pipe.take(into: buffer) {
    case .bytes(let count):
      sent += count
      keep(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      return .bytes(count)
    case .empty: return .later
    case .failed(let error): return .failed(error)
    case .end:
      if let length, sent < length, !pipe.isAbandoned {
        return .failed(ShortBody(length: length, sent: sent))
      }
      return .bytes(0)
    }
  }

  /// Begins again from the first byte.
  ///
  /// - Returns: false when bytes of the stream are gone.
  mutating func rewind() -> Bool {
    guard canRewind else { return false }
    position = 0
    sent = 0
    return true
  }

  /// The upstream answers: nothing will be sent again.
  mutating func settle() {
    guard pipe != nil, position == bytes.count else { return }
    forget()
  }

  private mutating func keep(_ part: UnsafeRawBufferPointer) {
    guard canRewind else { return }
    guard bytes.count + part.count <= Self.rewindLimit else { return forget() }
    bytes += part
    position = bytes.count
  }

  private mutating func forget() {
    canRewind = false
    bytes = []
    position = 0
  }
}

/// A request's stream ended before the length that was announced for it.
struct ShortBody: Error, CustomStringConvertible {
  let length: Int
  let sent: Int

  var description: String { "the request's body ended after \(sent) of \(length) bytes: announce what is sent" }
}
