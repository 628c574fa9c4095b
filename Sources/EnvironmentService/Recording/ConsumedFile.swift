import Foundation

/// A file in memory that is read once, from its beginning to its end: what has been read is given back on the way, so
/// that the file and what is made of it are never there in full at the same time.
///
/// It is a copy, not a map: a file that shrinks under a map would end the process.
final class ConsumedFile {
  /// The content. What was given back is zeros.
  let bytes: UnsafeRawBufferPointer
  private let memory: UnsafeMutableRawPointer
  private let length: Int
  private var given = 0

  /// As much as is given back at once: each time costs a call.
  private static let step = 4 << 20

  /// - Parameter path: of the file.
  /// - Throws: what the system says.
  init(_ path: String) throws(POSIXError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure() }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure() }
    length = max(1, Int(status.st_size))
    let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
    guard let memory = mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      throw Self.failure()
    }
    #if os(Linux)
      // Few large pages in place of many small ones: filling them is what reading costs.
      madvise(memory, length, MADV_HUGEPAGE)
    #endif
    var count = 0
    while count < Int(status.st_size) {
      let got = read(descriptor, memory + count, Int(status.st_size) - count)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else {
        let failure = Self.failure()
        munmap(memory, length)
        throw failure
      }
      // It has become shorter meanwhile.
      if got == 0 { break }
      count += got
    }
    self.memory = memory
    bytes = UnsafeRawBufferPointer(start: memory, count: count)
  }

  deinit { munmap(memory, length) }

  /// Gives back what is not looked at again.
  ///
  /// - Parameter count: so many bytes from the beginning.
  func giveBack(_ count: Int) {
    let whole = count / Self.step * Self.step
    guard whole > given else { return }
    madvise(memory + given, whole - given, MADV_DONTNEED)
    given = whole
  }

  private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
