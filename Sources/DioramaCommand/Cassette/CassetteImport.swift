import Basics
import CassetteConversion
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// `diorama cassette import`: converts recordings of other tools to a cassette.
enum CassetteImport {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let files = options.operands + (options.rest ?? [])
    guard !files.isEmpty else { throw CodedError(usage: "no file to import; give its path", command: name) }
    guard let target = options.value("--to"), !target.isEmpty else {
      throw CodedError(usage: "--to is missing; give the path of the cassette", command: name)
    }
    let format = try format(options)
    let recordedAt = try recordedAt(options)
    let named = try upstreams(options)
    let location = CassetteLocation(target)
    do { try location.check() } catch { throw CodedError(usage: "--to: \(error.problem)", command: name) }

    let total = files.reduce(0) { $0 + InputFile.size(of: $1) }
    let sources = try terminal.progress("importing \(files.count == 1 ? files[0] : "\(files.count) files")") {
      progress in
      progress.add(bytes: 0, of: total)
      return try files.map { file in
        let done = Guarded(0)
        let source = try Source(file, format: format) { range in
          done.withLock { $0 += range.count }
          progress.add(bytes: range.count, of: total)
        }
        // The readers of other formats tell nothing before they are done.
        progress.add(bytes: max(0, InputFile.size(of: file) - done.withLock { $0 }), of: total)
        return source
      }
    }
    let (assembled, unused) = try assemble(sources, named: named, recordedAt: recordedAt)
    let (cassette, redacted) = try redacted(assembled, for: location, options)
    let note = try terminal.progress("writing \(location.har)") { () throws(CodedError) in
      try CassetteWriter.write(cassette, to: location, isReplacing: options.has("--force"))
    }

    if let note { terminal.line(note) }
    for source in sources {
      for loss in source.losses {
        terminal.line("not carried over: \(source.path): \(loss.line(("entry", "entries")))")
      }
    }
    for upstream in unused {
      terminal.line("no interaction matches --upstream \(upstream.name)=\(upstream.origin)")
    }
    let result = Result(cassette, location: location, sources: sources, redacted: redacted)
    try options.has("--json") ? Output.write(json: result) : Output.write(lines: result.lines)
    return 0
  }

  private static func assemble(
    _ sources: [Source], named: [CassetteHeader.Upstream], recordedAt: String?
  ) throws -> (Cassette, unused: [CassetteHeader.Upstream]) {
    let interactions = sources.flatMap(\.foreign.interactions)
    guard !interactions.isEmpty else {
      let lost = sources.lazy.compactMap { source in source.losses.first.map { (source.path, $0) } }.first
      let why = lost.map { "; of \($0.0), \($0.1.line(("entry", "entries")))" } ?? ""
      throw CodedError(
        .broken, "no interactions in \(sources.map(\.path).joined(separator: ", "))\(why); choose other files")
    }
    // Keeps upstream names of Diorama's own cassettes, unless others are given.
    let own = sources.flatMap(\.foreign.header.upstreams).filter { upstream in
      !named.contains { $0.name == upstream.name || $0.origin == upstream.origin }
    }
    var upstreams = named
    for upstream in own where !upstreams.contains(where: { $0.name == upstream.name }) { upstreams.append(upstream) }
    upstreams = Cassette.upstreams(of: interactions, besides: upstreams)
    try Provisioning.check(upstreams)
    let cassette = Cassette(
      importing: sources.map(\.foreign), upstreams: upstreams, recordedAt: recordedAt,
      otherwise: RFC3339.format(sources[0].modified))
    let used = Set(cassette.interactions.compactMap(\.upstream))
    return (cassette, named.filter { !used.contains($0.name) })
  }

  /// Redacts the cassette as a recording would. Also returns the number of redacted values.
  private static func redacted(
    _ cassette: Cassette, for location: CassetteLocation, _ options: Options
  ) throws -> (Cassette, Int) {
    if options.has("--as-is") { return (cassette, 0) }
    try location.checkForSideFiles()
    let rules = try ConfigurationOptions.project(options)?.settings(for: location.base).redaction
    var redaction = try ImportRedaction(rules ?? RedactionRules())
    return (redaction.redact(cassette), redaction.count)
  }

  private static func format(_ options: Options) throws(CodedError) -> ImportFormat? {
    try options.choice("--from", from: ImportFormat.allCases.map(\.rawValue), command: name)
      .flatMap(ImportFormat.init(rawValue:))
  }

  private static func recordedAt(_ options: Options) throws(CodedError) -> String? {
    guard let text = options.value("--recorded-at") else { return nil }
    guard RFC3339.parse(text) != nil else {
      throw CodedError(
        usage: "--recorded-at takes an RFC 3339 time such as 2018-10-08T09:00:00Z, not '\(text)'", command: name)
    }
    return text
  }

  private static func upstreams(_ options: Options) throws -> [CassetteHeader.Upstream] {
    var upstreams: [CassetteHeader.Upstream] = []
    for text in options.all("--upstream") {
      let (upstream, url) = try pair(text, option: "--upstream", form: "NAME=URL", command: name)
      do { upstreams.append(.init(name: upstream, origin: try Origin(parsing: url))) } catch {
        throw CodedError(usage: "--upstream \(upstream): \(error)", command: name)
      }
    }
    return upstreams
  }

  private static let name = "cassette import"

  private static let table: [Options.Option] =
    [
      .init("--to", "PATH", "the cassette to write, without its extension"),
      .init(
        "--from", "FORMAT", "har, vinyl, dvr, vcr, vcrpy or go-vcr (default: detected)",
        choices: ImportFormat.allCases.map(\.rawValue)),
      .init("--upstream", "NAME=URL", "name an upstream (default: its host); repeatable"),
      .init("--recorded-at", "INSTANT", "the recording date, RFC 3339 (default: from the files)"),
      .init("--as-is", nil, "don't redact anything"),
      .init("--force", nil, "replace an existing cassette"),
      .init("--json", nil, "print the result as JSON"),
    ] + ConfigurationOptions.projectTable

  static let command = Command(
    name, "convert recordings of other tools to a cassette", usage: ["cassette import FILE … --to PATH [option …]"],
    about: """
      Converts recordings of other tools to a cassette: HAR (browsers, mitmproxy,
      Playwright, Polly.JS), Vinyl, DVR, VCR, vcrpy, go-vcr. Several files become one
      cassette, in their order. Secrets are redacted as in a recording. What can't be
      converted is listed on standard error.
      """, options: table, notes: "Exit status: 65 a file is broken; nothing is written then.", operands: .files,
    run: run)
}

extension CassetteImport {
  /// A file of another tool, with the bodies that it keeps in separate files.
  struct Source {
    let path: String
    var foreign: ForeignCassette
    /// When the file was last modified: the recording date if the file contains none.
    let modified: Date
    /// What can't be converted.
    var losses: [Loss]

    /// - Throws: ``CodedError`` that names the broken place.
    init(
      _ path: String, format: ImportFormat?, isDone: @escaping @Sendable (Range<Int>) -> Void
    ) throws(CodedError) {
      self.path = path
      let bytes = try WholeFiles.read(path, acceptsPipes: true)
      foreign = try CodedError.translating(try ForeignCassette.read(bytes, name: path, as: format, isDone: isDone))
      modified = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date ?? Date()
      losses = foreign.losses
      let strings = CassetteLocation(path).strings
      if foreign.header.recording != nil, FileManager.default.fileExists(atPath: strings) {
        losses.append(Loss(places: [], text: "its string store \(strings) is left out"))
      }
      var taken = 0
      for index in foreign.interactions.indices {
        foreign.interactions[index].request.body = try collected(foreign.interactions[index].request.body, &taken)
        foreign.interactions[index].response.body = try collected(foreign.interactions[index].response.body, &taken)
      }
    }

    /// Loads a body. All bodies of a file together have the same size limit as the file.
    private mutating func collected(_ body: RecordedBody, _ taken: inout Int) throws(CodedError) -> RecordedBody {
      guard case .file(let name, _) = body else { return body }
      let location = CassetteLocation(path)
      guard FileManager.default.fileExists(atPath: "\(location.folder)/\(name)") else {
        losses.append(Loss(places: [], text: "the body in \(name) is missing; replayed as an empty body"))
        return .empty
      }
      let file = try location.openBody(name)
      taken += file.size
      guard taken <= WholeFiles.limit else {
        throw CodedError(
          .broken, "the bodies of \(path) total more than \(WholeFiles.limit >> 20) MiB; import fewer interactions")
      }
      do { return .bytes([UInt8](try file.read(atMost: file.size))) } catch {
        throw CodedError(.inputOutput, "cannot read \(location.folder)/\(name): \(error); fix or remove it")
      }
    }
  }

  /// The result of an import.
  struct Result: Encodable {
    struct File: Encodable {
      var file: String
      var format: String
      var interactions: Int
    }

    struct Missing: Encodable {
      var file: String
      /// Numbers of entries, from 1; empty if it concerns the whole file.
      var entries: [Int]
      var what: String
    }

    var cassette: String
    var recordedAt: String?
    var interactions: Int
    var upstreams: [String: String]
    var files: [File]
    /// How many values were redacted.
    var redacted: Int
    var notCarriedOver: [Missing]

    init(_ cassette: Cassette, location: CassetteLocation, sources: [Source], redacted: Int) {
      self.redacted = redacted
      self.cassette = location.har
      recordedAt = cassette.header.recordedAt
      interactions = cassette.interactions.count
      upstreams = Dictionary(cassette.header.upstreams.map { ($0.name, $0.origin.description) }) { first, _ in first }
      files = sources.map {
        File(file: $0.path, format: $0.foreign.format.rawValue, interactions: $0.foreign.interactions.count)
      }
      notCarriedOver = sources.flatMap { source in
        source.losses.map { Missing(file: source.path, entries: $0.places, what: $0.text) }
      }
    }

    var lines: [String] {
      var lines = [
        "\(cassette): \(counted(interactions, "interaction"))" + (recordedAt.map { ", recorded \($0)" } ?? "")
      ]
      for file in files {
        let title = ImportFormat(rawValue: file.format)?.title ?? file.format
        lines.append("  \(file.file): \(title), \(counted(file.interactions, "interaction"))")
      }
      if redacted > 0 { lines.append("  \(counted(redacted, "value")) redacted; keep them with --as-is") }
      for (name, origin) in upstreams.sorted(by: { $0.key < $1.key }) { lines.append("  upstream \(name) = \(origin)") }
      return lines
    }
  }
}
