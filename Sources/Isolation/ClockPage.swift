package import Basics
package import Foundation

#if os(Linux)
  import ClockSupervision
  import Glibc

  /// The clock of an isolated command, in memory that its programs read.
  ///
  /// ```swift
  /// let clock = try ClockPage()
  /// clock.show(.frozen, Date(timeIntervalSince1970: 1_538_989_200))
  /// ```
  package final class ClockPage: Sendable {
    /// How the clock runs.
    package enum Pace: Sendable, Equatable {
      /// It shows the machine's time.
      case real
      /// It stands still.
      case frozen
      /// It runs as fast as the machine's.
      case ticking
      /// It runs this many seconds in a real second.
      case scaled(Double)
    }

    /// What a page can show: nanoseconds since 1970 in 64 bits, rounded to whole years. Other dates show as the nearest.
    package static let dates = Date(timeIntervalSince1970: -9_214_560_000)...Date(timeIntervalSince1970: 9_214_646_399)

    /// The memory file, close-on-exec.
    package let descriptor: Int32
    /// The mapped page. One thread at a time may write.
    private let page: Guarded<Page>

    private struct Page: @unchecked Sendable {
      let pointer: UnsafeMutablePointer<diorama_clock_page>
    }

    /// Makes a clock that shows the machine's time.
    ///
    /// - Throws: ``CodedError`` if the system has no memory or descriptor for it.
    package init() throws(CodedError) {
      var text = [CChar](repeating: 0, count: Int(DIORAMA_CLOCK_ERROR))
      descriptor = diorama_clock_page_create(&text)
      guard descriptor >= 0 else { throw Self.error(text) }
      guard let pointer = diorama_clock_page_map(descriptor, &text) else {
        close(descriptor)
        throw Self.error(text)
      }
      page = Guarded(Page(pointer: pointer))
    }

    deinit {
      page.withLock { _ = munmap($0.pointer, MemoryLayout<diorama_clock_page>.size) }
      close(descriptor)
    }

    /// Moves the clock. Running programs show the new time with their next read.
    ///
    /// - Parameters:
    ///   - pace: how it runs.
    ///   - date: what it shows now, one of ``dates``.
    package func show(_ pace: Pace, _ date: Date) {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      let real = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
      // Microseconds are exact in a date of these centuries; nanoseconds are not.
      let nearest = min(max(date, Self.dates.lowerBound), Self.dates.upperBound)
      let shown = Int64((nearest.timeIntervalSince1970 * 1e6).rounded()) * 1000
      let (mode, rate): (diorama_clock_mode, Double) =
        switch pace {
        case .real: (DIORAMA_CLOCK_REAL, 1)
        case .frozen: (DIORAMA_CLOCK_FROZEN, 1)
        case .ticking: (DIORAMA_CLOCK_OFFSET, 1)
        case .scaled(let rate): (DIORAMA_CLOCK_SCALED, rate)
        }
      page.withLock { diorama_clock_move($0.pointer, mode, real, shown, rate) }
    }

    private static func error(_ text: [CChar]) -> CodedError {
      CodedError(.inputOutput, String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }
#endif
