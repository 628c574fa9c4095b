import Glibc

/// Connects to the target of a relay.
enum Dialler {
  struct Failure: Error {
    let cause: String
  }

  /// Resolves the name and connects to the first address that answers. Blocks the thread.
  ///
  /// - Parameters:
  ///   - target: where to connect to.
  ///   - limit: the time for each address.
  /// - Returns: a non-blocking socket, which the caller owns.
  static func connect(to target: RelayTarget, limit: Duration = .seconds(20)) -> Result<Int32, Failure> {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(target.host, "\(target.port)", &hints, &first)
    guard code == 0 else {
      return .failure(Failure(cause: "\(target.host) cannot be resolved: \(String(cString: gai_strerror(code)))"))
    }
    defer { freeaddrinfo(first) }
    var error = ENOENT
    var next = first
    while let address = next?.pointee {
      next = address.ai_next
      let descriptor = socket(
        address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), address.ai_protocol)
      guard descriptor >= 0 else {
        error = errno
        continue
      }
      // "the timeout … also applies to connect(2)" (socket(7), SO_SNDTIMEO).
      var time = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      if Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        return .success(descriptor)
      }
      error = errno
      close(descriptor)
    }
    let text = error == EINPROGRESS ? "no answer in time" : String(cString: strerror(error))
    return .failure(Failure(cause: "\(target.host) port \(target.port) cannot be reached: \(text)"))
  }
}
