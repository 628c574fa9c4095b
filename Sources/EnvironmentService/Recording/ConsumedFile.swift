import Basics
import Dispatch
import Foundation
import HTTPMessages
import LaunchContract

/// A file in memory whose parts are read once each, by any thread. Parts that have been read are released, so that the
/// whole file and what is made of it are never in memory at the same time.
///
/// It is a copy, not a mapping: reading a mapped file that has shrunk would crash the process.
final class ConsumedFile: @unchecked Sendable {
  /// The content; zeros where it has been released.
  let bytes: UnsafeRawBufferPointer
  private let memory: UnsafeMutableRawPointer
  private let length: Int

  /// - Parameters:
  ///   - path: the file's path.
  ///   - limit: the maximum size in bytes.
  /// - Throws: `CodedError` if it is not a regular file, is too large, cannot be opened or cannot be text; else the system's error.
  init(_ path: String, atMost limit: Int = .max) throws {
    let file = try InputFile(path)
    try file.checkSize(atMost: limit)
    try file.checkIsText()
    length = max(1, file.size)
    let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
    guard let memory = mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      throw Self.failure()
    }
    #if os(Linux)
      // Use few large pages: most of the time is spent on page faults.
      madvise(memory, length, MADV_HUGEPAGE)
    #endif
    do {
      let count = try Self.fill(memory, from: file.descriptor, length: file.size)
      self.memory = memory
      bytes = UnsafeRawBufferPointer(start: memory, count: count)
    } catch {
      munmap(memory, length)
      throw error
    }
  }

  /// Reads a file with several processors, one piece each at a time.
  ///
  /// - Returns: the number of bytes read; less than `length` if the file has shrunk meanwhile.
  private static func fill(
    _ memory: UnsafeMutableRawPointer, from descriptor: Int32, length: Int
  ) throws(POSIXError) -> Int {
    let pieces = (length + piece - 1) / piece
    let outcome = Guarded<(end: Int, failure: POSIXError?)>((length, nil))
    nonisolated(unsafe) let memory = memory
    DispatchQueue.concurrentPerform(iterations: pieces) { index in
      var place = index * piece
      let end = min(place + piece, length)
      while place < end {
        let got = pread(descriptor, memory + place, end - place, off_t(place))
        if got < 0, errno == EINTR { continue }
        if got < 0 {
          let problem = Self.failure()
          return outcome.withLock { $0.failure = problem }
        }
        if got == 0 { return outcome.withLock { $0.end = min($0.end, place) } }
        place += got
      }
    }
    let (end, failure) = outcome.withLock { $0 }
    if let failure { throw failure }
    return end
  }

  /// The number of bytes read at once: a few large pages.
  private static let piece = 8 << 20

  deinit { munmap(memory, length) }

  /// Releases a part that will not be read again, except for pages that it shares with other parts.
  ///
  /// - Parameter range: the part, of several megabytes, because each call is a system call.
  func giveBack(_ range: Range<Int>) {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let start = (range.lowerBound + page - 1) / page * page
    let end = range.upperBound / page * page
    if start < end { madvise(memory + start, end - start, MADV_DONTNEED) }
  }

  private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
