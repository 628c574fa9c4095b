/// What a client of the portserver protocol has sent so far: the id of the process that is to own a port, and a newline.
enum PortserverRequest: Equatable {
  /// There may be more to come.
  case incomplete
  case process(Int32)
  case malformed

  /// The longest request that is answered.
  static let most = 20
  /// What is read before the connection is closed: a client whose bytes are left unread sees a reset.
  static let mostRead = 100

  /// Reads it.
  ///
  /// - Parameters:
  ///   - bytes: all that has come.
  ///   - isOver: whether the client has ended its side.
  init(_ bytes: [UInt8], isOver: Bool) {
    guard bytes.count <= Self.most else {
      self = .malformed
      return
    }
    guard isOver || bytes.contains(UInt8(ascii: "\n")) else {
      self = .incomplete
      return
    }
    let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
    let number = bytes.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
    self = Int32(String(decoding: Array(number), as: UTF8.self)).map(Self.process) ?? .malformed
  }
}
