import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The system calls that write recordings. Each failure names the file and the system's reason.
package enum FileWriting {
  /// Opens a file, close-on-exec. With `O_CREAT`, its permissions are restricted to `mode`, even if it already exists.
  static func open(
    _ path: String, _ flags: Int32, mode: UInt16 = 0o644, isRecording: Bool = true
  ) throws(CodedError) -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, flags | O_CLOEXEC, mode_t(mode))
    #else
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, mode_t(mode))
    #endif
    guard descriptor >= 0 else { throw failure("write", path, isRecording: isRecording) }
    if flags & O_CREAT != 0 { restrict(descriptor, to: mode) }
    return descriptor
  }

  /// Restricts the permissions of a regular file.
  ///
  /// The file of another user is left unchanged.
  ///
  /// - Parameters:
  ///   - descriptor: the open file.
  ///   - mode: the permissions that may remain. No `mode_t`, since different modules of C have one.
  package static func restrict(_ descriptor: Int32, to mode: UInt16) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & 0o777 & ~mode_t(mode) != 0
    else { return }
    fchmod(descriptor, status.st_mode & mode_t(mode))
  }

  /// Creates a file, replacing an existing one. A link is replaced, not followed.
  static func create(_ path: String) throws(CodedError) -> Int32 {
    unlink(path)
    return try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  /// Writes all bytes.
  static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, path: String, isRecording: Bool = true
  ) throws(CodedError) {
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      #if canImport(Darwin)
        let count = Darwin.write(descriptor, base, rest.count)
      #else
        let count = Glibc.write(descriptor, base, rest.count)
      #endif
      if count < 0 {
        if errno == EINTR { continue }
        throw failure("write", path, isRecording: isRecording)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Writes all bytes.
  static func write(
    _ bytes: [UInt8], to descriptor: Int32, path: String, isRecording: Bool = true
  ) throws(CodedError) {
    // A throwing closure in `withUnsafeBytes` would lose the typed error.
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(CodedError) in
        try write(buffer, to: descriptor, path: path, isRecording: isRecording)
      }
    }.get()
  }

  /// Makes what was written survive a power failure (fsync(2)).
  static func synchronize(_ descriptor: Int32, path: String) throws(CodedError) {
    guard fsync(descriptor) == 0 else { throw failure("write", path) }
  }

  /// Renames a file atomically, replacing an existing one (rename(2)).
  static func rename(_ old: String, to new: String) throws(CodedError) {
    #if canImport(Darwin)
      let result = Darwin.rename(old, new)
    #else
      let result = Glibc.rename(old, new)
    #endif
    guard result == 0 else { throw failure("write", new) }
  }

  /// Makes renames in a folder survive a power failure.
  static func synchronizeFolder(_ path: String) throws(CodedError) {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, O_RDONLY | O_CLOEXEC)
    #else
      let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    #endif
    guard descriptor >= 0 else { throw failure("read", path) }
    defer { close(descriptor) }
    // Some file systems cannot synchronize a folder (EINVAL); a rename is then as safe as they make it.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("write", path) }
  }

  /// Creates a folder and its parents if they are missing. Only the owner may write to them, whatever the umask is.
  static func createFolder(_ path: String, for file: String) throws(CodedError) {
    func isFolder() -> Bool {
      var status = stat()
      guard stat(path, &status) == 0 else { return false }
      errno = ENOTDIR
      return status.st_mode & S_IFMT == S_IFDIR
    }
    guard !isFolder() else { return }
    let parent = (path as NSString).deletingLastPathComponent
    if !parent.isEmpty, parent != path { try createFolder(parent, for: file) }
    guard mkdir(path, 0o755) != 0 else { return }
    // Another process may just have created it. If it is something else, stat(2) has the reason.
    let code = errno
    guard !isFolder() else { return }
    let reason = String(cString: strerror(code == EEXIST ? errno : code))
    throw CodedError(
      .cannotWrite, "cannot write \(file): cannot create its folder: \(reason); check the path and its permissions")
  }

  /// What is not lost if a permanent file cannot be written.
  private static func whatIsKept(_ path: String) -> String {
    let end = ".har.partial"
    guard path.hasSuffix(end) else { return "; the old file is unchanged" }
    let cassette = ShellWord.quoted(String(path.dropLast(end.count)))
    return
      "; this file has what was recorded so far; recover it with: diorama cassette check --recover \(cassette)"
  }

  /// The error for the current `errno`, with advice.
  ///
  /// - Parameters:
  ///   - verb: what was tried, such as `write`.
  ///   - path: the file or folder.
  ///   - isRecording: whether the file is permanent, so that data could be lost.
  /// - Returns: the error.
  static func failure(_ verb: String, _ path: String, isRecording: Bool = true) -> CodedError {
    let code = errno
    let advice =
      switch code {
      case ENOSPC, EDQUOT, EFBIG: "free disk space and run again" + (isRecording ? whatIsKept(path) : "")
      case EACCES, EPERM, EROFS: "choose a folder that you may write to"
      case ENOTDIR, ENOENT: "check the path"
      default: "fix it and run again"
      }
    return CodedError(.cannotWrite, "cannot \(verb) \(path): \(String(cString: strerror(code))); \(advice)")
  }
}
