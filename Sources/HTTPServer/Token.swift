/// What an event of the server's epoll set is about.
enum Token: Equatable {
  /// The loop's own event: look around.
  case wake
  /// Somebody connects to this listener.
  case listener(UInt32)
  /// The client of this connection has left.
  case connection(number: UInt32, descriptor: Int32)

  init(rawValue: UInt64) {
    let low = UInt32(truncatingIfNeeded: rawValue)
    switch rawValue >> 62 {
    case 0: self = .connection(number: UInt32(rawValue >> 32), descriptor: Int32(bitPattern: low))
    case 1: self = .listener(low)
    default: self = .wake
    }
  }

  var rawValue: UInt64 {
    switch self {
    case .connection(let number, let descriptor):
      UInt64(number) << 32 | UInt64(UInt32(bitPattern: descriptor))
    case .listener(let id): 1 << 62 | UInt64(id)
    case .wake: 3 << 62
    }
  }
}
