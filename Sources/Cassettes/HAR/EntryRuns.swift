import Dispatch
import Foundation
import HTTPMessages
import LaunchContract

extension HAR {
  /// Reads the entries of a large file on several processors.
  ///
  /// Each takes up the file at a place where an entry seems to begin. Whether one does is known when the one before has
  /// come there: then what has been read from there on counts. Where none does, and where anything is wrong, all is read
  /// in order, so that the result, and the error, is the same as ever.
  struct EntryRuns {
    /// Fewer bytes are read by one.
    static let least = 1 << 18

    private struct Outcome: @unchecked Sendable {
      var run: EntryRun
      var hasMetNext: Bool
    }

    private let first: EntryRun
    /// Where each of the others begins.
    private let places: [Int]
    private let make: (JSONReader) -> EntryRun

    /// Nil where one reads all.
    ///
    /// - Parameters:
    ///   - reader: before the first entry.
    ///   - processors: how many there are.
    ///   - make: makes a run.
    init?(
      _ reader: JSONReader, processors: Int = ProcessInfo.processInfo.activeProcessorCount,
      make: @escaping (JSONReader) -> EntryRun
    ) {
      var reader = reader
      guard processors > 1, reader.bytes.count - reader.offset >= Self.least, reader.peek() != nil else { return nil }
      places = Self.places(in: reader.bytes, from: reader.offset, parts: min(processors, 4))
      guard !places.isEmpty else { return nil }
      first = make(reader)
      self.make = make
    }

    /// Reads all entries.
    ///
    /// - Returns: nil where they have to be read in order.
    func read() -> EntryRun? {
      let runs = [first] + places.map { make(first.reader.moved(to: $0)) }
      let outcomes = Guarded([Outcome?](repeating: nil, count: runs.count))
      let begun = runs.map { Outcome(run: $0, hasMetNext: false) }
      // This thread is one of them: where there is no other, it does all.
      DispatchQueue.concurrentPerform(iterations: begun.count) { [places] index in
        var outcome = begun[index]
        let stop = index < places.count ? places[index] : nil
        guard let hasMetNext = try? outcome.run.read(to: stop) else { return }
        outcome.hasMetNext = hasMetNext
        outcomes.withLock { $0[index] = outcome }
      }
      var all = outcomes.withLock { outcomes in
        defer { outcomes = [] }
        return outcomes
      }
      guard var outcome = all[0].take() else { return nil }
      for index in 1..<all.count where outcome.hasMetNext {
        guard var next = all[index].take() else { return nil }
        outcome.run.append(&next.run)
        outcome.hasMetNext = next.hasMetNext
      }
      return outcome.run
    }

    /// Places in equal distances at which lines begin as that of the first entry does: in a string stands no line feed.
    private static func places(in bytes: UnsafeRawBufferPointer, from first: Int, parts: Int) -> [Int] {
      guard let lineFeed = bytes[..<first].lastIndex(of: 0x0A),
        bytes[lineFeed..<first].dropFirst().allSatisfy({ $0 == 0x20 || $0 == 0x09 }), let base = bytes.baseAddress
      else { return [] }
      let start = UnsafeRawBufferPointer(rebasing: bytes[lineFeed...first])
      var places: [Int] = []
      for part in 1..<parts {
        var place = max(first + (bytes.count - first) / parts * part, places.last ?? 0)
        while let found = memchr(base + place, 0x0A, bytes.count - place) {
          place = UnsafeRawPointer(found) - base
          let end = place + start.count
          guard end <= bytes.count else { break }
          if memcmp(found, base + lineFeed, start.count) == 0 {
            places.append(end - 1)
            break
          }
          place += 1
        }
      }
      return places
    }
  }
}
