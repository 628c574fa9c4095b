import Basics
import Foundation

#if canImport(Darwin)
  package import Darwin
#else
  package import Glibc
#endif

/// The few calls by which recordings reach the disk; each failure names the file and what the system said.
package enum FileWriting {
  /// Opens a file, close-on-exec. With `O_CREAT`, its mode is never more open than `mode`, not even if it was there before.
  static func open(
    _ path: String, _ flags: Int32, mode: mode_t = 0o644, isRecording: Bool = true
  ) throws(CodedError) -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, flags | O_CLOEXEC, mode)
    #else
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, mode)
    #endif
    guard descriptor >= 0 else { throw failure("write", path, isRecording: isRecording) }
    if flags & O_CREAT != 0 { restrict(descriptor, to: mode) }
    return descriptor
  }

  /// Takes bits of a regular file's mode away that are not in another one.
  ///
  /// A file of another user stays as it is: its mode is that user's choice.
  ///
  /// - Parameters:
  ///   - descriptor: of the open file.
  ///   - mode: the bits that may stay.
  package static func restrict(_ descriptor: Int32, to mode: mode_t) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o777 & ~mode != 0
    else { return }
    fchmod(descriptor, status.st_mode & mode)
  }

  /// Makes a file in the place of one that is there. What a link leads to is not written to.
  static func create(_ path: String) throws(CodedError) -> Int32 {
    unlink(path)
    return try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  /// Writes all of it.
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

  /// Writes all of it.
  static func write(
    _ bytes: [UInt8], to descriptor: Int32, path: String, isRecording: Bool = true
  ) throws(CodedError) {
    // Not `withUnsafeBytes` with a throwing closure alone: typed throws must come through.
    let result: Result<Void, CodedError> = bytes.withUnsafeBytes { buffer in
      do throws(CodedError) {
        try write(buffer, to: descriptor, path: path, isRecording: isRecording)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Makes what was written survive a power cut (fsync(2)).
  static func synchronize(_ descriptor: Int32, path: String) throws(CodedError) {
    guard fsync(descriptor) == 0 else { throw failure("write", path) }
  }

  /// Puts a file in another's place, in one step (rename(2)).
  static func rename(_ old: String, to new: String) throws(CodedError) {
    #if canImport(Darwin)
      let result = Darwin.rename(old, new)
    #else
      let result = Glibc.rename(old, new)
    #endif
    guard result == 0 else { throw failure("write", new) }
  }

  /// Makes renames in a folder survive a power cut.
  static func synchronizeFolder(_ path: String) throws(CodedError) {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, O_RDONLY | O_CLOEXEC)
    #else
      let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    #endif
    guard descriptor >= 0 else { throw failure("read", path) }
    defer { close(descriptor) }
    // Some file systems cannot synchronise a folder (EINVAL); there the rename is as safe as they make it.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("write", path) }
  }

  /// Creates a folder with those above it, where it is missing; only its owner may write in it, whatever the umask is.
  static func createFolder(_ path: String, for file: String) throws(CodedError) {
    func isFolder() -> Bool {
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
    guard !isFolder() else { return }
    let parent = (path as NSString).deletingLastPathComponent
    if !parent.isEmpty, parent != path { try createFolder(parent, for: file) }
    // Somebody else may just have made it.
    guard mkdir(path, 0o755) == 0 || isFolder() else {
      throw CodedError(
        .cannotWrite, "cannot write \(file): its folder cannot be made; check the path, or choose one you may write")
    }
  }

  /// What errno says of a path.
  ///
  /// - Parameters:
  ///   - verb: what was tried.
  ///   - path: of the file or folder.
  ///   - isRecording: whether something is kept there for good, so that there is something to lose.
  /// - Returns: the error, with what to do next.
  static func failure(_ verb: String, _ path: String, isRecording: Bool = true) -> CodedError {
    let code = errno
    let advice =
      switch code {
      case ENOSPC, EDQUOT, EFBIG:
        "make room and run it again" + (isRecording ? "; what was acknowledged is safe, the old content whole" : "")
      case EACCES, EPERM, EROFS: "choose a folder that you may write"
      case ENOTDIR, ENOENT: "check the path"
      default: "run it again when that is mended"
      }
    return CodedError(.cannotWrite, "cannot \(verb) \(path): \(String(cString: strerror(code))); \(advice)")
  }
}
