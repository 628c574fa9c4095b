import Basics
import Dispatch
import Foundation
import HTTPMessages
import LaunchContract

/// A file in memory of which each part is read once, by any thread: what has been read is given back on the way, so
/// that the file and what is made of it are never there in full at the same time.
///
/// It is a copy, not a map: a file that shrinks under a map would end the process.
final class ConsumedFile: @unchecked Sendable {
  /// The content. What was given back is zeros.
  let bytes: UnsafeRawBufferPointer
  private let memory: UnsafeMutableRawPointer
  private let length: Int

  /// - Parameters:
  ///   - path: of the file.
  ///   - limit: the most bytes there may be.
  /// - Throws: `CodedError` where it is no regular file, too large or cannot be opened; else what the system says.
  init(_ path: String, atMost limit: Int = .max) throws {
    let file = try InputFile(path)
    try file.checkSize(atMost: limit)
    length = max(1, file.size)
    let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
    guard let memory = mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      throw Self.failure()
    }
    #if os(Linux)
      // Few large pages in place of many small ones: filling them is what reading costs.
      madvise(memory, length, MADV_HUGEPAGE)
    #endif
    do throws(POSIXError) {
      let count = try Self.fill(memory, from: file.descriptor, length: file.size)
      self.memory = memory
      bytes = UnsafeRawBufferPointer(start: memory, count: count)
    } catch {
      munmap(memory, length)
      throw error
    }
  }

  /// Reads a file, of several processors each a piece at a time.
  ///
  /// - Returns: so many bytes; fewer than `length` where it has become shorter meanwhile.
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

  /// Bytes that are read at once: a few large pages.
  private static let piece = 8 << 20

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
