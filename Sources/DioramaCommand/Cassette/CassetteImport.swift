import Cassettes
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// `diorama cassette import`: makes a cassette of what other tools have recorded.
enum CassetteImport {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let files = options.operands + (options.rest ?? [])
    guard !files.isEmpty else { throw UsageError("name a file to import", command: command) }
    guard let target = options.value("--to"), !target.isEmpty else {
      throw UsageError("say with --to PATH what the cassette is to be called", command: command)
    }
    let format = try format(options)
    let recordedAt = try recordedAt(options)
    let named = try upstreams(options)
    let location = CassetteLocation(target)

    var sources: [Source] = []
    for file in files {
      sources.append(try terminal.progress("reading \(file)") { try Source(file, format: format) })
    }
    let (assembled, unused) = try assemble(sources, named: named, recordedAt: recordedAt)
    let (cassette, redacted) = try redacted(assembled, for: location, options)
    let note = try terminal.progress("writing \(location.har)") { () throws(EnvironmentError) in
      try CassetteWriter.write(cassette, to: location, isReplacing: options.has("--force"))
    }

    if let note { terminal.line(note) }
    for source in sources {
      for loss in source.losses {
        terminal.line("not carried over: \(source.path): \(loss.line(("entry", "entries")))")
      }
    }
    for upstream in unused {
      terminal.line("no interaction belongs to --upstream \(upstream.name)=\(upstream.origin)")
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
      throw EnvironmentError(
        .broken, "there is nothing to replay in \(sources.map(\.path).joined(separator: ", "))\(why); name other files")
    }
    // Names of a cassette of ours stand, unless others are given.
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

  /// Without what no recording would keep, and how many values that were.
  private static func redacted(
    _ cassette: Cassette, for location: CassetteLocation, _ options: Options
  ) throws -> (Cassette, Int) {
    if options.has("--as-is") {
      guard options.value("--redact") == nil else {
        throw UsageError("--as-is and --redact exclude each other; leave one out", command: command)
      }
      return (cassette, 0)
    }
    var rules = RedactionRules()
    for path in options.all("--redact") { rules = rules.adding(try RedactionFiles.read(path, acceptsPipes: true)) }
    var redaction = try ImportRedaction(for: location, adding: rules)
    return (redaction.redact(cassette), redaction.count)
  }

  private static func format(_ options: Options) throws(UsageError) -> ImportFormat? {
    guard let text = options.value("--from") else { return nil }
    if let format = ImportFormat(rawValue: text.lowercased()) { return format }
    let known = ImportFormat.allCases.map(\.rawValue)
    throw UsageError(
      "--from takes \(known.dropLast().joined(separator: ", ")) or \(known.last ?? ""), not '\(text)'"
        + suggestion(for: text, among: known), command: command)
  }

  private static func recordedAt(_ options: Options) throws(UsageError) -> String? {
    guard let text = options.value("--recorded-at") else { return nil }
    guard RFC3339.parse(text) != nil else {
      throw UsageError(
        "--recorded-at takes an RFC 3339 instant such as 2018-10-08T09:00:00Z, not '\(text)'", command: command)
    }
    return text
  }

  private static func upstreams(_ options: Options) throws -> [CassetteHeader.Upstream] {
    var upstreams: [CassetteHeader.Upstream] = []
    for text in options.all("--upstream") {
      let (name, url) = try pair(text, option: "--upstream", command: command)
      do throws(InvalidOrigin) {
        upstreams.append(.init(name: name, origin: try Origin(parsing: url)))
      } catch {
        throw UsageError("--upstream \(name): \(error)", command: command)
      }
    }
    return upstreams
  }

  private static let command = "cassette import"

  private static let table: [Options.Option] = [
    .init("--to", "PATH", "the cassette to write, without ending"),
    .init("--from", "FORMAT", "har, vinyl, dvr, vcr or vcrpy; guessed by the content if not given"),
    .init("--upstream", "NAME=URL", "what a backend is to be called, repeatable; else it has its host's name"),
    .init("--recorded-at", "INSTANT", "RFC 3339: the date at which replay holds the clock; else as the files say"),
    .init("--redact", "FILE", "redaction rules, beside those in PATH.redact.json and in redact.json; repeatable"),
    .init("--as-is", nil, "keep what is secret by default or by those rules, as it stands in the files"),
    .init("--force", nil, "replace a cassette that is there"),
    .init("--json", nil, "what became of it, as JSON"),
  ]

  private static let help = """
    usage: diorama cassette import FILE … --to PATH [options]

    Makes a cassette of what other tools have recorded: HAR (browsers, mitmproxy, Playwright), Vinyl, DVR, VCR, vcrpy.
    Several files become one cassette, in their order. What a recording would redact is redacted. What cannot be carried
    over is listed on standard error, line by line. Ends with 65 when a file is broken, and writes nothing then.

    \(Options.describe(table))
    """
}
