#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The database's file as bytes, before SQLite has it.
struct StoreFile {
  let path: String

  /// Whether it is missing or empty.
  var isEmpty: Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_size == 0
  }

  /// Makes it where there is none; only its owner can read it, and SQLite gives its other files the same mode.
  func makePrivate() throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, fchmod(descriptor, 0o600) == 0 else {
      let code = errno
      if descriptor >= 0 { close(descriptor) }
      throw StoreError(
        "the daemon's state '\(path)' cannot be opened: \(String(cString: strerror(code))); check its permissions",
        kind: code == ENOSPC || code == EDQUOT ? .full : .notPermitted)
    }
    close(descriptor)
  }

  /// The schema version in its head; nil while it is empty or no database.
  ///
  /// SQLite would have to open the write-ahead log for this, and would touch it. Each migration ends with a checkpoint,
  /// so what stands here is true.
  var version: Int? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var head = [UInt8](repeating: 0, count: 100)
    guard pread(descriptor, &head, head.count, 0) == head.count, head.starts(with: Array("SQLite format 3\0".utf8))
    else { return nil }
    // "Offset 60, size 4: the user version as read and set by the user_version pragma", big-endian.
    return Int(Int32(bitPattern: head[60..<64].reduce(0) { $0 << 8 | UInt32($1) }))
  }
}
