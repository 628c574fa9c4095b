import HTTPMessages

/// A request's body as curl reads it, on curl's thread.
///
/// Keeps a stream's bytes while they are few, so curl can send them again if a kept connection turns out to be closed.
struct Upload {
  /// The result of a read.
  enum Part {
    /// The number of bytes read; 0 at the end.
    case bytes(Int)
    /// Nothing available yet.
    case later
    case failed(any Error)
  }

  /// The stream, if the body is one.
  let pipe: BytePipe?
  /// The file, if the body is one.
  private let file: FileBody?
  /// The length in bytes, if known.
  let length: Int?
  /// The bytes in memory; the first `position` have been read.
  private var bytes: [UInt8]
  private var position = 0
  /// The number of bytes passed to curl.
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

  /// The whole body, if it is in memory.
  var whole: [UInt8]? { pipe == nil && file == nil ? bytes : nil }

  /// Whether all bytes of a known length have been read.
  var isComplete: Bool { sent == length }

  /// Reads the next bytes.
  ///
  /// Never returns more than the declared length: the upstream would take the rest for another request.
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
        return .failed(
          BodyError("the request's body ended after \(sent) of \(length) bytes: declare the right length"))
      }
      return .bytes(0)
    }
  }

  /// Restarts from the first byte.
  ///
  /// - Returns: false if bytes of the stream are no longer available.
  mutating func rewind() -> Bool {
    guard canRewind else { return false }
    position = 0
    sent = 0
    return true
  }

  /// The upstream has responded: the body will not be sent again.
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
