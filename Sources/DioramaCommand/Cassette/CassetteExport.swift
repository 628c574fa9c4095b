import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette export`: writes a cassette for other tools.
enum CassetteExport {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let locations = try CassetteCommand.locations(options, command: command)
    guard locations.count == 1, let location = locations.first else {
      throw UsageError("export writes one cassette at a time", command: command)
    }
    guard let target = options.value("--to"), !target.isEmpty else {
      throw UsageError("say with --to where it is to be written", command: command)
    }
    guard let format = options.value("--as") else {
      throw UsageError("say --as har or --as wiremock", command: command)
    }

    let stored = try terminal.progress("reading \(location.har)") { () throws(EnvironmentError) in
      try CassetteReader.read(location)
    }
    var product: Product
    switch format {
    case "har": product = Product(har: try interactions(stored, location), of: stored, to: target)
    case "wiremock":
      product = try Product(wireMock: try interactions(stored, location), of: stored, location, to: target)
    default:
      throw UsageError(
        "--as takes har or wiremock, not '\(format)'" + suggestion(for: format, among: ["har", "wiremock"]),
        command: command)
    }
    product.losses += (stored.cassette.skipped + stored.cassette.incomplete.map { "\($0): its body was not saved" })
      .map { Loss(places: [], text: $0) }
    if let rules = location.declaredRules { product.losses.append(Loss(places: [], text: "the rules in \(rules)")) }
    let own = URL(fileURLWithPath: location.har).resolvingSymlinksInPath()
    for (path, _) in product.files where URL(fileURLWithPath: path).resolvingSymlinksInPath() == own {
      throw UsageError(
        "\(path) is the cassette itself, which has more than other tools read; name another file with --to",
        command: command)
    }
    try WholeFiles.write(product.files, isReplacing: options.has("--force"))

    for loss in product.losses { terminal.line("not carried over: \(loss.line(("interaction", "interactions")))") }
    let result = Result(
      cassette: location.har, format: format, files: product.files.map(\.path),
      interactions: stored.cassette.interactions.count,
      notCarriedOver: product.losses.map { Result.Missing(interactions: $0.places, what: $0.text) })
    try options.has("--json") ? Output.write(json: result) : Output.write(lines: result.lines)
    return 0
  }

  /// All interactions with their bodies in memory.
  private static func interactions(
    _ stored: StoredCassette, _ location: CassetteLocation
  ) throws(EnvironmentError) -> [Interaction] {
    var interactions = stored.cassette.interactions
    for index in interactions.indices {
      interactions[index].request.body = .bytes(
        try CassetteReader.bytes(of: interactions[index].request.body, in: location))
      interactions[index].response.body = .bytes(
        try CassetteReader.bytes(of: interactions[index].response.body, in: location))
    }
    return interactions
  }

  private struct Result: Encodable {
    struct Missing: Encodable {
      /// Indices as `diorama cassette show` has them; empty where it is about the whole.
      var interactions: [Int]
      var what: String
    }

    var cassette: String
    var format: String
    var files: [String]
    var interactions: Int
    var notCarriedOver: [Missing]

    var lines: [String] {
      ["\(cassette): \(counted(interactions, "interaction")) written"] + files.map { "  \($0)" }
    }
  }

  static let command = "cassette export"

  private static let table: [Options.Option] = [
    .init("--to", "FILE|FOLDER", "what to write: the HAR, or WireMock's root folder (or one FILE.json of mappings)"),
    .init("--as", "FORMAT", "har: one HAR 1.2 file, bodies and all; wiremock: stub mappings"),
    .init("--force", nil, "replace files that are there"),
    .init("--json", nil, "what became of it, as JSON"),
  ]

  private static let help = """
    usage: diorama cassette export PATH --to FILE|FOLDER --as har|wiremock [options]

    Writes a cassette for other tools. WireMock reads FOLDER/mappings/NAME.json when it is started with --root-dir FOLDER;
    of several backends each gets a root folder of its own, FOLDER/<backend>. What cannot be carried over is listed on
    standard error, line by line.

    \(Options.describe(table))
    """
}
