import Basics
import Dispatch
import Foundation
import HTTPMessages
import LaunchContract

extension HAR {
  /// Reads consecutive elements of `log.entries`.
  struct EntryRun {
    /// The interactions, in order.
    private(set) var interactions: [Interaction] = []
    /// Entries that cannot be replayed: the number within this run, from 1, and the reason.
    private(set) var skipped: [(number: Int, reason: String)] = []
    private(set) var incomplete: [(number: Int, request: String)] = []
    private(set) var count = 0
    /// Positioned after the last entry read.
    private(set) var reader: JSONReader
    /// What the interactions do not preserve; nil if not requested.
    private(set) var losses: HARLosses?

    private var decoder: EntryDecoder
    private var outline = JSONIndex()
    private let author: EntryDecoder.Author
    private let isDone: @Sendable (Range<Int>) -> Void
    /// The offset up to which progress was reported.
    private var done: Int

    /// Progress is reported in steps of this many bytes.
    private static let step = 4 << 20

    /// - Parameters:
    ///   - reader: positioned before the first entry.
    ///   - name: the file's name, for errors.
    ///   - author: the tool that wrote the file.
    ///   - losses: collects what the interactions do not preserve; nil if not needed.
    ///   - isDone: called with the bytes that have been read.
    init(
      _ reader: JSONReader, name: String, author: EntryDecoder.Author, losses: HARLosses? = nil,
      isDone: @escaping @Sendable (Range<Int>) -> Void
    ) {
      self.reader = reader
      self.author = author
      self.losses = losses
      self.isDone = isDone
      decoder = EntryDecoder(name: name, number: 0, author: author)
      done = reader.offset
    }

    /// Reads to the end of the array, or to an offset at which an entry may begin.
    ///
    /// - Parameter stop: that offset; reading continues past it if no entry begins there.
    /// - Returns: whether it stopped at an entry that begins at `stop`.
    /// - Throws: ``CodedError``.
    mutating func read(to stop: Int? = nil) throws(CodedError) -> Bool {
      var elements = JSONReader.Progress()
      while try reader.nextElement(&elements) {
        if let stop, reader.peek() != nil, reader.offset == stop { return true }
        count += 1
        try take()
        reportProgress()
      }
      return false
    }

    /// Appends the results of the run that continues this one, moving its interactions.
    mutating func append(_ next: inout EntryRun) {
      // Moved, because a copy would retain every string of every interaction.
      interactions.reserveCapacity(interactions.count + next.interactions.count)
      next.interactions.reverse()
      while let interaction = next.interactions.popLast() { interactions.append(interaction) }
      skipped += next.skipped.map { (count + $0.number, $0.reason) }
      incomplete += next.incomplete.map { (count + $0.number, $0.request) }
      count += next.count
      reader = next.reader
    }

    private mutating func take() throws(CodedError) {
      // The whole entry is only needed to find losses.
      var whole: JSON?
      if losses != nil {
        var ahead = reader
        whole = try ahead.value()
      }
      try outline.read(&reader)
      decoder.number = count
      decoder.author = outline.withValue { $0["_diorama"] != nil } ? .diorama : author
      let outcome = try outline.withValue(decoder.decode)
      if let whole { losses?.entry(whole, number: count, outcome) }
      switch outcome {
      case .interaction(let interaction, let isIncomplete):
        interactions.append(interaction)
        if isIncomplete {
          incomplete.append((count, "\(interaction.request.method) \(interaction.request.url.prefix(200))"))
        }
      case .skipped(let reason): skipped.append((count, reason))
      }
    }

    private mutating func reportProgress() {
      let end = reader.offset / Self.step * Self.step
      guard end > done else { return }
      isDone(done..<end)
      done = end
    }
  }
}

extension HAR {
  /// Reads the entries of a large file on several processors.
  ///
  /// Each run starts at an offset where an entry seems to begin. The guess is confirmed when the preceding run reaches
  /// that offset. If a guess is wrong, or an entry is invalid, the whole file is read in order instead, so the result
  /// and the errors do not depend on the number of processors.
  struct EntryRuns {
    /// Files with fewer bytes than this are read by one run.
    static let least = 1 << 18

    private struct Outcome: @unchecked Sendable {
      var run: EntryRun
      var hasMetNext: Bool
    }

    private let first: EntryRun
    /// The offsets at which the other runs begin.
    private let places: [Int]
    private let make: (JSONReader) -> EntryRun

    /// Nil if one run should read the whole file.
    ///
    /// - Parameters:
    ///   - reader: positioned before the first entry.
    ///   - processors: the number of processors to use.
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
    /// - Returns: nil if the entries have to be read in order.
    func read() -> EntryRun? {
      let runs = [first] + places.map { make(first.reader.moved(to: $0)) }
      let outcomes = Guarded([Outcome?](repeating: nil, count: runs.count))
      let begun = runs.map { Outcome(run: $0, hasMetNext: false) }
      // This thread takes part, and does all the work if no other is available.
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

    /// Evenly spaced offsets of lines with the first entry's indentation. A JSON string cannot contain a line feed.
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
