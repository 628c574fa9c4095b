import LaunchContract

extension HAR {
  /// Reads a cassette, ours or another tool's, entry by entry: the document is never in memory as a tree.
  ///
  /// It reads leniently. In another tool's HAR entries that cannot be replayed are left out and named in
  /// ``Cassette/skipped``; the rest stands in the order of `startedDateTime`.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - name: The file, for errors.
  ///   - isDone: is told now and then, by several threads, which bytes of the file will not be looked at again, unless
  ///     to say what is wrong with it: errors may be others with it.
  /// - Returns: What it holds.
  /// - Throws: ``CassetteError`` when the text is broken, no HAR, of a newer format, or an entry lacks what it needs.
  package static func read(
    _ bytes: UnsafeRawBufferPointer, name: String, isDone: @escaping @Sendable (Range<Int>) -> Void = { _ in }
  ) throws(CassetteError) -> Cassette {
    var document = Document(bytes, name: name)
    return try document.read(isDone)
  }

  /// Reads a cassette and notes what of the file is not in it.
  package static func read(_ bytes: [UInt8], name: String, noting losses: inout HARLosses) throws(CassetteError)
    -> Cassette
  {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CassetteError) in
      var document = Document(UnsafeRawBufferPointer(buffer), name: name, losses: losses)
      defer { losses = document.losses ?? losses }
      return try document.read { _ in }
    }
  }

  /// Reads a cassette; as the other `read`.
  package static func read(_ bytes: [UInt8], name: String) throws(CassetteError) -> Cassette {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CassetteError) in
      try read(UnsafeRawBufferPointer(buffer), name: name)
    }
  }
}

/// A HAR file as it is read.
private struct Document {
  private var reader: JSONReader
  private let name: String
  private var header: CassetteHeader?
  private var author = HAR.EntryDecoder.Author.other
  private var interactions: [Interaction] = []
  private var skipped: [String] = []
  private var incomplete: [String] = []
  /// What is not carried over, for one who asks.
  private(set) var losses: HARLosses?

  init(_ bytes: UnsafeRawBufferPointer, name: String, losses: HARLosses? = nil) {
    reader = JSONReader(bytes)
    self.name = name
    self.losses = losses
  }

  mutating func read(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CassetteError) -> Cassette {
    guard let first = reader.peek() else { throw failure("the file is empty") }
    guard first == UInt8(ascii: "{") else {
      throw notHAR(ForeignFormat(value: try? reader.value(), bytes: reader.bytes))
    }
    var others: [JSON.Member] = []
    var hasLog = false
    var progress = try syntax { reader throws(JSONError) in try reader.beginObject() }
    while let key = try syntax({ reader throws(JSONError) in try reader.nextKey(&progress) }) {
      if key == "log", !hasLog {
        hasLog = true
        try log(isDone)
      } else {
        others.append(JSON.Member(key, try value()))
      }
    }
    try syntax { reader throws(JSONError) in try reader.end() }
    guard hasLog else { throw notHAR(ForeignFormat(value: .object(others), bytes: reader.bytes)) }
    return finished()
  }

  private mutating func log(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CassetteError) {
    guard reader.peek() == UInt8(ascii: "{") else { throw failure("log is not an object") }
    var hasEntries = false
    var progress = try syntax { reader throws(JSONError) in try reader.beginObject() }
    while let key = try syntax({ reader throws(JSONError) in try reader.nextKey(&progress) }) {
      switch key {
      case "_diorama":
        header = try HAR.decodeHeader(try value(), name: name)
        author = .diorama
      case "creator":
        let creator = try value()["name"]?.string?.lowercased() ?? ""
        if creator.hasPrefix("mitmproxy"), header == nil { author = .mitmproxy }
      case "entries":
        hasEntries = true
        try entries(isDone)
      default:
        let value = try value()
        losses?.member(key, value)
      }
    }
    guard hasEntries else { throw failure("log.entries is missing") }
  }

  private mutating func entries(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CassetteError) {
    guard reader.peek() == UInt8(ascii: "[") else { throw failure("log.entries is not an array") }
    _ = try syntax { reader throws(JSONError) in try reader.beginArray() }
    let (name, author) = (name, author)
    var run: HAR.EntryRun
    if losses == nil,
      let read = HAR.EntryRuns(reader, make: { HAR.EntryRun($0, name: name, author: author, isDone: isDone) })?.read()
    {
      run = read
    } else {
      run = HAR.EntryRun(reader, name: name, author: author, losses: losses, isDone: isDone)
      _ = try run.read()
    }
    reader = run.reader
    losses = run.losses
    // Usually there are none before, and then nothing is copied.
    interactions = interactions.isEmpty ? run.interactions : interactions + run.interactions
    skipped += run.skipped.map { "entry \($0.number): \($0.reason)" }
    incomplete += run.incomplete.map { "entry \($0.number): \($0.request)" }
  }

  private func finished() -> Cassette {
    var cassette = Cassette(
      header: header ?? CassetteHeader(), interactions: interactions, skipped: skipped, incomplete: incomplete)
    if header?.recordedAt != nil { return cassette }
    let starts = interactions.map { HAR.Timestamp($0.startedAt) }
    let known = starts.compactMap(\.self)
    cassette.header.recordedAt = known.min()?.rfc3339
    let isInOrder = zip(known, known.dropFirst()).allSatisfy { !($1 < $0) }
    if header == nil, known.count == interactions.count, !isInOrder {
      // HAR prefers this order and does not promise it; `sorted` keeps equal ones as they stand.
      cassette.interactions = known.indices.sorted { known[$0] < known[$1] }.map { interactions[$0] }
    }
    return cassette
  }

  private mutating func value() throws(CassetteError) -> JSON {
    try syntax { reader throws(JSONError) in try reader.value() }
  }

  private mutating func syntax<Result>(
    _ step: (inout JSONReader) throws(JSONError) -> Result
  ) throws(CassetteError) -> Result {
    do {
      return try step(&reader)
    } catch {
      throw CassetteError(name: name, json: error)
    }
  }

  private func failure(_ problem: String) -> CassetteError {
    CassetteError(name: name, problem: problem, advice: "restore the file, or record it anew")
  }

  private func notHAR(_ format: ForeignFormat?) -> CassetteError {
    guard let format else {
      return CassetteError(
        name: name, problem: "it is not a HAR, which is a JSON object with a member 'log'",
        advice: "name a HAR, or record one")
    }
    return CassetteError(
      name: name, problem: "it is not a HAR; it looks like \(format.rawValue)", advice: format.advice)
  }
}
