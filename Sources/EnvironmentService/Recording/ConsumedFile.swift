import Foundation

/// A file in memory of which each part is read once, by any thread: what has been read is given back on the way, so
/// that the file and what is made of it are never there in full at the same time.
///
/// It is a copy, not a map: a file that shrinks under a map would end the process.
final class ConsumedFile: @unchecked Sendable {
  /// The content. What was given back is zeros.
  let bytes: UnsafeRawBufferPointer
  private let memory: UnsafeMutableRawPointer
  private let length: Int

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

  /// Gives back what is not looked at again, but for the pages at its ends that belong to others too.
  ///
  /// - Parameter range: of the bytes; some megabytes, since each time costs a call.
  func giveBack(_ range: Range<Int>) {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let start = (range.lowerBound + page - 1) / page * page
    let end = range.upperBound / page * page
    if start < end { madvise(memory + start, end - start, MADV_DONTNEED) }
  }

  private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
