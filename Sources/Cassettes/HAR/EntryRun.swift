import LaunchContract

extension HAR {
  /// Reads elements of `log.entries` one after the other: all of them, or those from one place to another.
  struct EntryRun {
    /// The interactions, in order.
    private(set) var interactions: [Interaction] = []
    /// Entries that cannot be replayed, by their number in this run from 1, and why not.
    private(set) var skipped: [(number: Int, reason: String)] = []
    /// Entries whose responses had bodies that were not saved.
    private(set) var incomplete: [(number: Int, request: String)] = []
    /// How many entries have been read.
    private(set) var count = 0
    /// Behind what has been read.
    private(set) var reader: JSONReader
    /// What is not carried over, for one who asks.
    private(set) var losses: HARLosses?

    private var decoder: EntryDecoder
    private var outline = JSONIndex()
    private let author: EntryDecoder.Author
    private let isDone: @Sendable (Range<Int>) -> Void
    /// How far that has been told.
    private var done: Int

    /// As many bytes are told to be done with at once.
    private static let step = 4 << 20

    /// - Parameters:
    ///   - reader: before the first of the entries.
    ///   - name: the file, for errors.
    ///   - author: who wrote the file.
    ///   - losses: nil where nobody asks for them.
    ///   - isDone: is told which bytes have been read.
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

    /// Reads to the array's end, or to a place where an entry may begin.
    ///
    /// - Parameter stop: the offset of that place; the run goes on where none begins there.
    /// - Returns: whether one does.
    /// - Throws: ``CassetteError``.
    mutating func read(to stop: Int? = nil) throws(CassetteError) -> Bool {
      var elements = JSONReader.Progress()
      while try syntax({ reader throws(JSONError) in try reader.nextElement(&elements) }) {
        if let stop, reader.peek() != nil, reader.offset == stop { return true }
        count += 1
        try take()
        tell()
      }
      return false
    }

    /// Goes on where another run has stopped, with what that one has read: its interactions are taken from it.
    mutating func append(_ next: inout EntryRun) {
      // Moved, not copied: a copy would retain every text of every one.
      interactions.reserveCapacity(interactions.count + next.interactions.count)
      next.interactions.reverse()
      while let interaction = next.interactions.popLast() { interactions.append(interaction) }
      skipped += next.skipped.map { (count + $0.number, $0.reason) }
      incomplete += next.incomplete.map { (count + $0.number, $0.request) }
      count += next.count
      reader = next.reader
    }

    /// Reads the entry that comes next.
    private mutating func take() throws(CassetteError) {
      // All of an entry is wanted only by one who asks what is not carried over.
      var whole: JSON?
      do {
        if losses != nil {
          var ahead = reader
          whole = try ahead.value()
        }
        try outline.read(&reader)
      } catch {
        throw CassetteError(name: decoder.name, json: error)
      }
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

    private mutating func tell() {
      let end = reader.offset / Self.step * Self.step
      guard end > done else { return }
      isDone(done..<end)
      done = end
    }

    private mutating func syntax<Result>(
      _ step: (inout JSONReader) throws(JSONError) -> Result
    ) throws(CassetteError) -> Result {
      do {
        return try step(&reader)
      } catch {
        throw CassetteError(name: decoder.name, json: error)
      }
    }
  }
}
