package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open file to read from, which somebody else may have put there: a regular file, or a pipe where one is accepted.
///
/// Opening never waits at a FIFO that nobody writes, unless pipes are accepted. What was opened is what was checked
/// (fstat(2)), so nothing can take its place in between.
///
/// ```swift
/// let data = try InputFile("rules.json").read(atMost: 16 << 20)
/// ```
package struct InputFile: ~Copyable {
  package let descriptor: Int32
  /// In bytes, when it was opened; 0 for a pipe.
  package let size: Int

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - folder: an open folder from which a relative path counts.
  ///   - followsLinks: whether the path may be a symbolic link.
  ///   - acceptsPipes: whether it may be a pipe. Opening a FIFO then waits for somebody who writes.
  /// - Throws: ``InputFileError`` when it cannot be opened, or is a folder, a device or a socket.
  package init(
    _ path: String, in folder: Int32 = AT_FDCWD, followsLinks: Bool = true, acceptsPipes: Bool = false
  ) throws(InputFileError) {
    var status = stat()
    let mayWait = acceptsPipes && fstatat(folder, path, &status, 0) == 0 && Self.isPipe(status)
    let flags = (mayWait ? 0 : O_NONBLOCK) | (followsLinks ? 0 : O_NOFOLLOW)
    var descriptor: Int32
    repeat {
      descriptor = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags)
    } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw InputFileError(opening: errno, followsLinks: followsLinks) }
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw InputFileError(code: code)
    }
    if let kind = Self.refusedKind(status, acceptsPipes: acceptsPipes) {
      close(descriptor)
      throw InputFileError(code: EINVAL, reason: "it is \(kind), not a regular file")
    }
    self.descriptor = descriptor
    size = Self.isPipe(status) ? 0 : Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Hands over the descriptor, which the caller closes.
  package consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Reads a text file to its end. Read, not mapped: a file that shrinks under a map would end the process.
  ///
  /// - Parameter limit: the most bytes there may be.
  /// - Returns: the bytes.
  /// - Throws: ``InputFileError`` when reading fails, there is more, or a large file begins with a zero byte. No text does, and
  ///   a file that is all hole would be read into gigabytes of memory before a parser rejects its first byte.
  package func read(atMost limit: Int) throws(InputFileError) -> Data {
    try checkSize(atMost: limit)
    // A file with holes may say that it has more than there is memory for.
    var data = Data(capacity: min(size, 64 << 20))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        guard size < 64 << 20 || !data.isEmpty || buffer[0] != 0 else {
          throw InputFileError(code: EINVAL, reason: "it is not text: it begins with a zero byte")
        }
        guard count <= limit - data.count else { throw InputFileError(tooLarge: limit) }
        data.append(contentsOf: buffer[..<count])
      } else if count == 0 {
        return data
      } else if errno != EINTR {
        throw InputFileError(code: errno)
      }
    }
  }

  /// All of a regular file, mapped into memory: for one that only grows.
  ///
  /// - Parameter limit: the most bytes there may be.
  /// - Returns: the bytes.
  /// - Throws: ``InputFileError`` when the system refuses, or there are more.
  package func map(atMost limit: Int) throws(InputFileError) -> Data {
    try checkSize(atMost: limit)
    guard size > 0 else { return Data() }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw InputFileError(code: errno)
    }
    return Data(bytesNoCopy: start, count: size, deallocator: .unmap)
  }

  /// - Throws: ``InputFileError`` when the file has more bytes than that.
  package func checkSize(atMost limit: Int) throws(InputFileError) {
    guard size <= limit else { throw InputFileError(tooLarge: limit) }
  }

  /// What a file is that cannot be read as one.
  ///
  /// - Parameter path: of the file; links are followed.
  /// - Returns: such as `a pipe`; nil for a regular file, and if nothing is there.
  package static func refusedKind(_ path: String) -> String? {
    var status = stat()
    return stat(path, &status) == 0 ? refusedKind(status, acceptsPipes: false) : nil
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

/// Why a file cannot be read.
package struct InputFileError: Error, CustomStringConvertible {
  /// As errno has it.
  package let code: Int32
  /// In words, without the path: `Permission denied`, `it is a pipe, not a regular file`.
  package let description: String

  init(code: Int32, reason: String? = nil) {
    self.code = code
    description = reason ?? String(cString: strerror(code))
  }

  init(opening code: Int32, followsLinks: Bool) {
    switch code {
    case ELOOP where !followsLinks: self.init(code: code, reason: "it is a symbolic link, not a regular file")
    // What open(2) says of a socket, on Linux and on Apple's platforms.
    case ENXIO, EOPNOTSUPP: self.init(code: code, reason: "it is a socket, not a regular file")
    default: self.init(code: code)
    }
  }

  init(tooLarge limit: Int) {
    self.init(code: EFBIG, reason: "it is larger than \(limit >> 20) MiB")
  }

  /// Whether there is no such file.
  package var isMissing: Bool { code == ENOENT || code == ENOTDIR }
}
