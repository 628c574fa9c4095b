package import Basics
package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open file, possibly from an untrusted source: a regular file, or a pipe if accepted.
///
/// Opening never blocks on a FIFO without a writer, unless pipes are accepted. The opened file itself is checked
/// (fstat(2)), so it cannot be replaced in between.
///
/// ```swift
/// let data = try InputFile("rules.json").read(atMost: 16 << 20)
/// ```
package struct InputFile: ~Copyable {
  /// The maximum size in bytes of a file of settings, certificates or keys.
  package static let smallLimit = 16 << 20

  package let descriptor: Int32
  /// The size in bytes when it was opened; 0 for a pipe.
  package let size: Int

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - folder: the descriptor of the folder for a relative path.
  ///   - followsLinks: whether the path may be a symbolic link.
  ///   - acceptsPipes: whether the path may be a pipe. Opening a FIFO then waits for a writer.
  /// - Throws: ``CodedError`` if the file cannot be opened, or is a folder, a device or a socket.
  package init(
    _ path: String, in folder: Int32 = AT_FDCWD, followsLinks: Bool = true, acceptsPipes: Bool = false
  ) throws(CodedError) {
    var status = stat()
    let mayWait = acceptsPipes && fstatat(folder, path, &status, 0) == 0 && Self.isPipe(status)
    let flags = (mayWait ? 0 : O_NONBLOCK) | (followsLinks ? 0 : O_NOFOLLOW)
    var descriptor: Int32
    repeat {
      descriptor = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags)
    } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw CodedError(errno: errno, followsLinks: followsLinks) }
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw CodedError(errno: code)
    }
    if let kind = Self.refusedKind(status, acceptsPipes: acceptsPipes) {
      close(descriptor)
      throw CodedError(.inputOutput, "it is \(kind), not a regular file")
    }
    self.descriptor = descriptor
    size = Self.isPipe(status) ? 0 : Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Returns the descriptor, to be closed by the caller.
  package consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Reads a text file to its end, without mapping it: a mapped file that shrinks would crash the process.
  ///
  /// - Parameter limit: the maximum size in bytes.
  /// - Returns: the bytes.
  /// - Throws: ``CodedError`` if reading fails, the file is larger, or a large file begins with a zero byte.
  package func read(atMost limit: Int) throws(CodedError) -> Data {
    try checkSize(atMost: limit)
    try checkIsText()
    // A sparse file's size may exceed the available memory.
    var data = Data(capacity: min(size, 64 << 20))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        guard count <= limit - data.count else { throw CodedError(tooLarge: limit) }
        data.append(contentsOf: buffer[..<count])
      } else if count == 0 {
        return data
      } else if errno != EINTR {
        throw CodedError(errno: errno)
      }
    }
  }

  /// Maps a regular file into memory; only for a file that never shrinks.
  ///
  /// - Parameter limit: the maximum size in bytes.
  /// - Returns: the bytes.
  /// - Throws: ``CodedError`` if mapping fails or the file is larger.
  package func map(atMost limit: Int) throws(CodedError) -> Data {
    try checkSize(atMost: limit)
    guard size > 0 else { return Data() }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw CodedError(errno: errno)
    }
    return Data(bytesNoCopy: start, count: size, deallocator: .unmap)
  }

  /// - Throws: ``CodedError`` if the file exceeds the limit.
  package func checkSize(atMost limit: Int) throws(CodedError) {
    guard size <= limit else { throw CodedError(tooLarge: limit) }
  }

  /// - Throws: ``CodedError`` if a large file begins with a zero byte. No text does, and a sparse file would take gigabytes
  ///   of memory before a parser rejects its first byte.
  package func checkIsText() throws(CodedError) {
    var first: UInt8 = 1
    guard size >= 64 << 20, pread(descriptor, &first, 1, 0) == 1, first == 0 else { return }
    throw CodedError(.inputOutput, "it is not text: it begins with a zero byte")
  }

  /// The size of a regular file in bytes; 0 for anything else.
  package static func size(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 && refusedKind(status, acceptsPipes: false) == nil ? Int(status.st_size) : 0
  }

  /// The kind of a file that is not a regular file.
  ///
  /// - Parameter path: the path; links are followed.
  /// - Returns: a phrase such as `a pipe`; nil for a regular or missing file.
  package static func refusedKind(_ path: String) -> String? {
    var status = stat()
    if stat(path, &status) == 0 { return refusedKind(status, acceptsPipes: false) }
    let isLoop = errno == ELOOP
    // A link to nothing would be replaced by a file in its place.
    return lstat(path, &status) == 0 ? isLoop ? "a loop of symbolic links" : "a broken symbolic link" : nil
  }

  private static func refusedKind(_ status: stat, acceptsPipes: Bool) -> String? {
    switch status.st_mode & S_IFMT {
    case S_IFREG: nil
    case S_IFIFO: acceptsPipes ? nil : "a pipe"
    case S_IFDIR: "a folder"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  private static func isPipe(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFIFO }
}

extension CodedError {
  /// A file cannot be read; the message is the reason without the path: `Permission denied`.
  fileprivate init(errno code: Int32, followsLinks: Bool = true) {
    let reason =
      switch code {
      case ELOOP where !followsLinks: "it is a symbolic link, not a regular file"
      // The error of open(2) for a socket, on Linux and Apple platforms.
      case ENXIO, EOPNOTSUPP: "it is a socket, not a regular file"
      default: String(cString: strerror(code))
      }
    self.init(code == ENOENT || code == ENOTDIR ? .noCassette : .inputOutput, reason)
  }

  fileprivate init(tooLarge limit: Int) {
    self.init(.inputOutput, "it is larger than \(limit >> 20) MiB")
  }

  /// Whether there is no such file.
  package var isMissing: Bool { kind == .noCassette }
}
