#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Words for why a socket could not be had, from the system's error.
struct SocketFailure {
  private let location: String
  private let isPath: Bool
  private let isAnyPort: Bool
  private let code = errno

  init(port: UInt16?) {
    location = port.map { "127.0.0.1 port \($0)" } ?? "127.0.0.1, any port"
    isPath = false
    isAnyPort = port == nil
  }

  init(path: String) {
    location = path
    isPath = true
    isAnyPort = false
  }

  func error(_ what: String) -> ServerError {
    ServerError(what: "\(what): \(String(cString: strerror(code)))", where: location, next: next)
  }

  private var next: String {
    switch code {
    case EMFILE, ENFILE: "raise the limit of open files ('ulimit -n')"
    case ENOENT, ENOTDIR: "make the folder first"
    case _ where isPath: "choose a path in a folder that belongs to you"
    case EADDRINUSE where isAnyPort: "all ports are taken: end programs that hold some"
    case EADDRINUSE: "stop the program that has this port ('ss -ltnp' names it) or choose another port"
    case EACCES: "choose a port from 1024 up, or run with the right to use it"
    default: "try another port"
    }
  }
}
