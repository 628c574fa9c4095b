import TestSupport

/// The upstream's end of a connection of HTTP/2, frame by frame, with blocking calls for one thread.
final class FrameConnection {
  struct Frame {
    let type: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: [UInt8]

    /// The payload of RST_STREAM or WINDOW_UPDATE.
    var number: UInt32 { payload.reduce(0) { $0 << 8 | UInt32($1) } }
    var endsStream: Bool { flags & 1 != 0 }
  }

  private let connection: Connection
  /// The sum of the client's WINDOW_UPDATE frames by stream.
  private(set) var windows: [UInt32: Int] = [:]
  /// Whether the client has confirmed the settings.
  private var isConfirmed = false
  /// The number of bytes of DATA that have been read.
  private(set) var received = 0

  init(_ connection: Connection, settings: [(UInt16, UInt32)] = []) throws {
    self.connection = connection
    guard try connection.readExactly(24) == Frames.preface else { throw Failure(what: "no preface") }
    try connection.write(Frames.settings(settings))
  }

  func write(_ frames: [UInt8]...) throws { try connection.write(Array(frames.joined())) }

  /// Reads the next frame.
  func next() throws -> Frame {
    let head = try connection.readExactly(9)
    let frame = Frame(
      type: head[3], flags: head[4], stream: head[5...].reduce(0) { $0 << 8 | UInt32($1) },
      payload: try connection.readExactly(head[..<3].reduce(0) { $0 << 8 | Int($1) }))
    if frame.type == 4 {
      if frame.flags & 1 == 0 { try write(Frames.settingsAcknowledgement) } else { isConfirmed = true }
    }
    if frame.type == 8 { windows[frame.stream, default: 0] += Int(frame.number) }
    if frame.type == 0 { received += frame.payload.count }
    return frame
  }

  /// Reads up to the next frame of a type.
  @discardableResult
  func next(_ type: UInt8) throws -> Frame {
    while true {
      let frame = try next()
      if frame.type == type { return frame }
    }
  }

  /// Reads up to the confirmation of the settings: closing with unread bytes would reset the connection, and lose what the
  /// client has not read.
  func readConfirmation() throws {
    while !isConfirmed { _ = try next() }
  }

  /// Waits until the client has read everything.
  func synchronize() throws {
    try write(Frames.ping())
    while try next(6).flags & 1 == 0 {}
  }

  /// Reads the head of the next request and responds to it.
  ///
  /// - Returns: the stream.
  @discardableResult
  func serve(_ text: String = "ok") throws -> UInt32 {
    let stream = try next(1).stream
    try write(
      Frames.headers(stream, [(":status", "200")]), Frames.data(stream, Array(text.utf8), ends: true))
    return stream
  }

  /// Serves until the client has left.
  func serveToEnd() throws { while true { try serve() } }
}
