#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The file by which a Unix socket is reached.
struct SocketFile: Sendable {
  private let path: String
  private let device: dev_t
  private let inode: ino_t

  /// The one that has just been made.
  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Takes it away, unless another one stands there by now.
  func remove() {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
    unlink(path)
  }

  /// Refuses what the system would cut off or misread.
  static func check(_ path: String) throws(ServerError) {
    let count = path.utf8.count
    guard count > 0, !path.utf8.contains(0) else {
      throw ServerError(what: "it is not a path for a Unix socket", where: "'\(path)'", next: "give a file's path")
    }
    guard count <= SocketAddress.longestPath else {
      throw ServerError(
        what: "the path of a Unix socket has at most \(SocketAddress.longestPath) bytes, and this one has \(count)",
        where: path, next: "choose a folder with a shorter path")
    }
  }

  /// Removes a socket's file on which nobody answers.
  static func makeRoom(at path: String) throws(ServerError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw ServerError(
        what: "there is a file that is not a socket", where: path, next: "move it away or choose another path")
    }
    let probe = try Socket.make(AF_UNIX, for: .init(path: path))
    defer { Socket.close(probe) }
    var address = SocketAddress(path: path)
    let isAnswered = address.withPointer { connect(probe, $0, $1) } == 0
    // Its queue is full: it is only busy.
    guard !isAnswered, errno != EAGAIN else {
      throw ServerError(
        what: "another process listens there", where: path,
        next: "stop it ('ss -lxp' names it) or choose another path")
    }
    guard errno == ECONNREFUSED || errno == ENOENT else {
      throw SocketFailure(path: path).error("cannot find out who listens there")
    }
    unlink(path)
  }
}
