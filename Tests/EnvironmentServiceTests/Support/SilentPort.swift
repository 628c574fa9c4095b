import HTTPMessages
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A port that listens and never answers, to check that no program connects.
final class SilentPort: Sendable {
  let origin: Origin
  private let descriptor: Int32

  init() throws {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: 16)
    self.descriptor = descriptor
    origin = Origin(scheme: "http", host: "127.0.0.1", port: port)
  }

  deinit { close(descriptor) }

  /// Whether a connection is waiting to be accepted.
  var wasTried: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) > 0
  }
}
