package import Basics
import HTTPMessages
import LaunchContract

/// HAR 1.2, the file format of cassettes. Written files are strictly valid; files of other tools are read leniently.
///
/// Specification: <http://www.softwareishard.com/blog/har-12-spec/>. Custom fields begin with an underscore. Diorama's
/// are in `log._diorama`, `entry._diorama` and `postData._diorama`.
///
/// A file can be written in pieces, in constant memory:
/// ```swift
/// write(HAR.prologue(header))
/// for (index, interaction) in interactions.enumerated() {
///   write(HAR.entry(interaction, isFirst: index == 0))
/// }
/// write(HAR.epilogue())
/// ```
package enum HAR {
  /// The version of the `_diorama` fields; a file with a higher one is rejected.
  package static let format = 1

  /// The value of `log.creator`.
  ///
  /// Its version is the format's, so that re-recording with a newer program does not change it.
  package static let creator = JSON.object([.init("name", .string("diorama")), .init("version", .string("\(format)"))])

  /// The start of a file: everything before the first entry.
  package static func prologue(_ header: CassetteHeader) -> [UInt8] {
    let log = JSON.object([
      .init(
        "log",
        .object([
          .init("version", .string("1.2")),
          .init("creator", creator),
          .init("_diorama", encode(header)),
          .init("pages", .array([])),
          .init("entries", .array([])),
        ]))
    ])
    // `epilogue` adds the empty array's closing bracket and the rest.
    return Array(log.encoded(.pretty).dropLast("]\n  }\n}".utf8.count)) + [0x0A]
  }

  /// One entry, preceded by a comma unless it is the first.
  ///
  /// - Parameters:
  ///   - interaction: the interaction.
  ///   - isFirst: whether it is the file's first.
  ///   - hasBinaryBody: whether to write the response's body in Base64 even if it is text.
  /// - Returns: the text of the entry.
  package static func entry(_ interaction: Interaction, isFirst: Bool, hasBinaryBody: Bool = false) -> [UInt8] {
    var writer = JSONWriter(Array((isFirst ? "      " : ",\n      ").utf8), style: .pretty, level: 3)
    encode(interaction, hasBinaryBody: hasBinaryBody, to: &writer)
    return writer.output
  }

  /// The end of a file: everything after the last entry.
  package static func epilogue() -> [UInt8] {
    Array("\n    ]\n  }\n}\n".utf8)
  }

  /// Encodes a whole file.
  package static func write(_ cassette: Cassette) -> [UInt8] {
    var output = prologue(cassette.header)
    for (index, interaction) in cassette.interactions.enumerated() {
      output.append(contentsOf: entry(interaction, isFirst: index == 0))
    }
    output.append(contentsOf: epilogue())
    return output
  }

  /// Encodes `log._diorama`.
  static func encode(_ header: CassetteHeader) -> JSON {
    var members = [JSON.Member("format", .number("\(format)"))]
    let texts = [
      ("recording", header.recording), ("recordedAt", header.recordedAt), ("timeZone", header.timeZone),
      ("locale", header.locale), ("seed", header.seed),
    ]
    members += texts.compactMap { name, text in text.map { JSON.Member(name, .string($0)) } }
    if header.isOfFailedRun { members.append(JSON.Member("failed", .bool(true))) }
    members.append(
      JSON.Member(
        "upstreams", .object(header.upstreams.map { .init($0.name, .string($0.origin.description)) })))
    if !header.grpcSchemas.isEmpty {
      let schemas = header.grpcSchemas.sorted { $0.key < $1.key }
      members.append(
        JSON.Member("grpcSchemas", .object(schemas.map { .init($0.key, .string(Base64.encode($0.value))) })))
    }
    if !header.mapped.isEmpty {
      members.append(JSON.Member("mapped", .array(header.mapped.map { .string($0.description) })))
    }
    if !header.resources.isEmpty {
      let resources = header.resources.sorted { $0.key < $1.key }
      members.append(JSON.Member("resources", .object(resources.map { .init($0.key, encode($0.value)) })))
    }
    return .object(members)
  }

  private static func encode(_ resource: CassetteHeader.Resource) -> JSON {
    .object([
      .init("pool", .string(resource.pool)), .init("name", .string(resource.name)),
      .init(
        "attributes",
        .object(resource.attributes.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) })),
      .init("secrets", .array(resource.secrets.map { .string($0) })),
    ])
  }

  /// Decodes `log._diorama`; unknown members are ignored.
  static func decodeHeader(_ value: JSON, name: String) throws(CodedError) -> CassetteHeader {
    try checkFormat(value["format"], name: name, member: "_diorama.format")
    var upstreams: [CassetteHeader.Upstream] = []
    for member in value["upstreams"]?.object ?? [] {
      do {
        let origin = try Origin(parsing: member.value.string ?? "")
        upstreams.append(CassetteHeader.Upstream(name: member.key, origin: origin))
      } catch {
        throw CodedError(
          name: name, problem: "_diorama.upstreams.\(member.key): \(error)", advice: "fix it, or re-record")
      }
    }
    var header = CassetteHeader(
      recording: value["recording"]?.string, recordedAt: value["recordedAt"]?.string,
      timeZone: value["timeZone"]?.string, locale: value["locale"]?.string, seed: value["seed"]?.string,
      upstreams: upstreams)
    header.isOfFailedRun = value["failed"] == .bool(true)
    for member in value["grpcSchemas"]?.object ?? [] {
      header.grpcSchemas[member.key] = member.value.string.flatMap { Base64.decode($0) }
    }
    // Advice only, so that a text that is not an origin is no reason to refuse the cassette.
    header.mapped = (value["mapped"]?.array ?? []).compactMap { $0.string.flatMap { try? Origin(parsing: $0) } }
    for (label, value) in (value["resources"]?.object ?? []).map({ ($0.key, $0.value) }) {
      guard let pool = value["pool"]?.string, let resource = value["name"]?.string else {
        throw CodedError(
          name: name, problem: "_diorama.resources.\(label) has no pool or no name", advice: "fix it, or re-record")
      }
      header.resources[label] = CassetteHeader.Resource(
        pool: pool, name: resource,
        attributes: (value["attributes"]?.object ?? []).reduce(into: [:]) { $0[$1.key] = $1.value.string ?? "" },
        secrets: (value["secrets"]?.array ?? []).compactMap(\.string))
    }
    return header
  }

  /// Throws if the file's format is newer than this version supports.
  static func checkFormat(_ value: JSON?, name: String, member: String) throws(CodedError) {
    guard let value else { return }
    guard let found = value.int, found >= 1 else {
      throw CodedError(
        name: name, problem: "\(member) is not a positive integer", advice: CodedError.restoring)
    }
    guard found <= format else {
      throw CodedError(
        name: name, problem: "its format is \(found), but this version of diorama supports at most \(format)",
        advice: "update diorama")
    }
  }
}

// A recording in progress is a file of lines: the header, then one interaction per line. A line counts only with its
// line feed, so a truncated file loses at most the line that was being written.
extension HAR {
  /// The first line of a partial file, including its line feed.
  package static func headerLine(_ header: CassetteHeader) -> [UInt8] {
    JSON.object([.init("_diorama", encode(header))]).encoded() + [0x0A]
  }

  /// An interaction on one line, including its line feed.
  package static func line(_ interaction: Interaction) -> [UInt8] {
    var writer = JSONWriter(style: .compact)
    encode(interaction, to: &writer)
    return writer.output + [0x0A]
  }

  /// Reads the first line of a partial file.
  ///
  /// - Parameters:
  ///   - line: the line, with or without its line feed.
  ///   - name: The file, for the error.
  /// - Returns: the header.
  /// - Throws: ``CodedError`` if the line is not a header, or its format is too new.
  package static func header(
    line: UnsafeRawBufferPointer, name: String = "the partial recording"
  ) throws(CodedError) -> CassetteHeader {
    guard let header = try parse(line: line, name: name)["_diorama"] else {
      throw CodedError(
        name: name, line: 1, column: 1, problem: "_diorama is missing", advice: "remove the file and re-record")
    }
    return try decodeHeader(header, name: name)
  }

  /// Reads one line of a partial file after the first.
  ///
  /// - Parameters:
  ///   - line: The line, with or without its line feed.
  ///   - name: The file, for the error.
  ///   - number: the interaction's number, from 1, for the error.
  /// - Returns: the interaction.
  /// - Throws: ``CodedError`` if the line is not a valid interaction.
  package static func interaction(
    line: UnsafeRawBufferPointer, name: String = "the partial recording", number: Int? = nil
  ) throws(CodedError) -> Interaction {
    let decoder = EntryDecoder(name: name, number: number, author: .diorama)
    var outline = JSONIndex()
    var reader = JSONReader(line, name: name, advice: CodedError.restoring)
    try outline.read(&reader)
    try reader.end()
    switch try outline.withValue(decoder.decode) {
    case .interaction(let interaction, _): return interaction
    case .skipped(let reason): throw decoder.failure("it cannot be replayed: \(reason)")
    }
  }

  private static func parse(line: UnsafeRawBufferPointer, name: String) throws(CodedError) -> JSON {
    try JSON.parse(line, name: name, advice: CodedError.restoring)
  }
}

extension HAR {
  /// Reads a cassette, written by Diorama or another tool, entry by entry, without building a tree of the whole
  /// document.
  ///
  /// In another tool's HAR, entries that cannot be replayed are omitted and listed in ``Cassette/skipped``; the others
  /// are sorted by `startedDateTime`.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - name: the file's name, for errors.
  ///   - isDone: called now and then, on several threads, with a range of bytes that will not be read again except to
  ///     produce an error. If the caller discards them, the error may be a different one.
  /// - Returns: the cassette.
  /// - Throws: ``CodedError`` if the file is malformed, not a HAR, in a newer format, or an entry lacks a required
  ///   member.
  package static func read(
    _ bytes: UnsafeRawBufferPointer, name: String, isDone: @escaping @Sendable (Range<Int>) -> Void = { _ in }
  ) throws(CodedError) -> Cassette {
    var document = Document(bytes, name: name)
    return try document.read(isDone)
  }

  /// Reads a cassette and notes what is in the file but not in the result.
  package static func read(
    _ bytes: [UInt8], name: String, noting losses: inout HARLosses,
    isDone: @escaping @Sendable (Range<Int>) -> Void = { _ in }
  ) throws(CodedError) -> Cassette {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      var document = Document(UnsafeRawBufferPointer(buffer), name: name, losses: losses)
      defer { losses = document.losses ?? losses }
      return try document.read(isDone)
    }
  }

  /// Reads a cassette from an array.
  package static func read(_ bytes: [UInt8], name: String) throws(CodedError) -> Cassette {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      try read(UnsafeRawBufferPointer(buffer), name: name)
    }
  }
}

/// The state of reading a HAR file.
private struct Document {
  private var reader: JSONReader
  private let name: String
  private var header: CassetteHeader?
  private var author = HAR.EntryDecoder.Author.other
  private var interactions: [Interaction] = []
  private var skipped: [String] = []
  private var incomplete: [String] = []
  /// What the interactions do not preserve; nil if not requested.
  private(set) var losses: HARLosses?

  init(_ bytes: UnsafeRawBufferPointer, name: String, losses: HARLosses? = nil) {
    reader = JSONReader(bytes, name: name, advice: CodedError.restoring)
    self.name = name
    self.losses = losses
  }

  mutating func read(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CodedError) -> Cassette {
    guard let first = reader.peek() else { throw failure("the file is empty") }
    guard first == UInt8(ascii: "{") else {
      throw notHAR(ForeignFormat(value: try? reader.value(), bytes: reader.bytes))
    }
    var others: [JSON.Member] = []
    var hasLog = false
    var progress = try reader.beginObject()
    while let key = try reader.nextKey(&progress) {
      if key == "log", !hasLog {
        hasLog = true
        try log(isDone)
      } else {
        others.append(JSON.Member(key, try reader.value()))
      }
    }
    try reader.end()
    guard hasLog else { throw notHAR(ForeignFormat(value: .object(others), bytes: reader.bytes)) }
    return finished()
  }

  private mutating func log(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CodedError) {
    guard reader.peek() == UInt8(ascii: "{") else { throw failure("log is not an object") }
    var hasEntries = false
    var progress = try reader.beginObject()
    while let key = try reader.nextKey(&progress) {
      switch key {
      case "_diorama":
        header = try HAR.decodeHeader(try reader.value(), name: name)
        author = .diorama
      case "creator":
        let creator = try reader.value()["name"]?.string?.lowercased() ?? ""
        guard header == nil else { break }
        if creator.hasPrefix("mitmproxy") { author = .mitmproxy }
        if creator.hasPrefix("polly") { author = .polly }
      case "entries":
        hasEntries = true
        try entries(isDone)
      default:
        let value = try reader.value()
        losses?.member(key, value)
      }
    }
    guard hasEntries else { throw failure("log.entries is missing") }
  }

  private mutating func entries(_ isDone: @escaping @Sendable (Range<Int>) -> Void) throws(CodedError) {
    guard reader.peek() == UInt8(ascii: "[") else { throw failure("log.entries is not an array") }
    _ = try reader.beginArray()
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
    // Usually empty before, and then nothing is copied.
    interactions = interactions.isEmpty ? run.interactions : interactions + run.interactions
    skipped += run.skipped.map { "entry \($0.number): \($0.reason)" }
    incomplete += run.incomplete.map { "entry \($0.number): \($0.request)" }
  }

  private func finished() -> Cassette {
    var cassette = Cassette(
      header: header ?? CassetteHeader(), interactions: interactions, skipped: skipped, incomplete: incomplete)
    if header?.recordedAt != nil { return cassette }
    let starts = interactions.map { Instant($0.startedAt) }
    let known = starts.compactMap(\.self)
    cassette.header.recordedAt = known.min()?.rfc3339
    let isInOrder = zip(known, known.dropFirst()).allSatisfy { !($1 < $0) }
    if header == nil, known.count == interactions.count, !isInOrder {
      // HAR recommends this order without requiring it. `sorted` is stable.
      cassette.interactions = known.indices.sorted { known[$0] < known[$1] }.map { interactions[$0] }
    }
    return cassette
  }

  private func failure(_ problem: String) -> CodedError {
    CodedError(name: name, problem: problem, advice: CodedError.restoring)
  }

  private func notHAR(_ format: ForeignFormat?) -> CodedError {
    guard let format else {
      return CodedError(
        name: name, problem: "it is not a HAR, which is a JSON object with a member 'log'",
        advice: "pass a HAR file, or record one")
    }
    return CodedError(
      name: name, problem: "it is not a HAR; it looks like \(format.rawValue)", advice: format.advice)
  }
}
