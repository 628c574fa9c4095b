import Basics
import CassetteConversion
import Cassettes
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages

/// `diorama cassette export`: converts a cassette for other tools.
enum CassetteExport {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let locations = try CassetteCommand.locations(options, command: name)
    guard locations.count == 1, let location = locations.first else {
      throw CodedError(usage: "export writes one cassette at a time", command: name)
    }
    guard let target = options.value("--to"), !target.isEmpty else {
      throw CodedError(usage: "--to is missing; give the file or folder to write", command: name)
    }
    guard let format = try options.choice("--as", from: ["har", "wiremock"], command: name) else {
      throw CodedError(usage: "--as is missing; give har or wiremock", command: name)
    }

    let stored = try terminal.progress("reading \(location.har)") { () throws(CodedError) in
      try CassetteReader.read(location)
    }
    var product: Product
    switch format {
    case "har": product = Product(har: try interactions(stored, location), of: stored, to: target)
    default:
      product = try Product(wireMock: try interactions(stored, location), of: stored, location, to: target)
    }
    product.losses += (stored.cassette.skipped + stored.cassette.incomplete.map { "\($0): its body was not saved" })
      .map { Loss(places: [], text: $0) }
    try location.checkForSideFiles()
    if let project = try ConfigurationOptions.project(options),
      project.settings(for: location.base).matching?.rules.isEmpty == false
    {
      product.losses.append(Loss(places: [], text: "the matching rules in \(project.path)"))
    }
    let own = URL(fileURLWithPath: location.har).resolvingSymlinksInPath()
    for (path, _) in product.files where URL(fileURLWithPath: path).resolvingSymlinksInPath() == own {
      throw CodedError(
        usage: "\(path) is the cassette itself; choose another file with --to",
        command: name)
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

  /// All interactions with their bodies loaded.
  private static func interactions(
    _ stored: StoredCassette, _ location: CassetteLocation
  ) throws(CodedError) -> [Interaction] {
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
      /// Indices as in `diorama cassette show`; empty if it concerns the whole cassette.
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

  static let name = "cassette export"

  private static let table: [Options.Option] =
    [
      .init("--to", "FILE|FOLDER", "the HAR file, or WireMock's root folder (or a file FILE.json of mappings)"),
      .init(
        "--as", "FORMAT", "har: one HAR 1.2 file with all bodies; wiremock: stub mappings",
        choices: ["har", "wiremock"]),
      .init("--force", nil, "replace existing files"),
      .init("--json", nil, "print the result as JSON"),
    ] + ConfigurationOptions.projectTable

  static let command = Command(
    name, "convert a cassette to a HAR for other tools, or to WireMock mappings",
    usage: ["cassette export PATH --to FILE|FOLDER --as FORMAT [option …]"],
    about: """
      Converts a cassette for other tools. WireMock reads FOLDER/mappings/NAME.json if
      started with --root-dir FOLDER; several upstreams get a root folder each,
      FOLDER/<upstream>. What can't be converted is listed on standard error.
      """, options: table, operands: .files, run: run)
}

extension CassetteExport {
  /// The files of an export before they are written, and what they lack.
  struct Product {
    var files: [(path: String, bytes: [UInt8])] = []
    var losses: [Loss] = []

    /// A single HAR.
    init(har interactions: [Interaction], of stored: StoredCassette, to file: String) {
      let (bytes, losses) = HARExport.write(interactions)
      files = [(file, bytes)]
      self.losses = HARExport.losses(of: stored.cassette.header, strings: stored.stringCount) + losses
    }

    /// One file of mappings for each upstream, since WireMock doesn't distinguish upstreams at its one address.
    init(
      wireMock interactions: [Interaction], of stored: StoredCassette, _ location: CassetteLocation, to target: String
    ) throws(CodedError) {
      let upstreams = Cassette.upstreams(of: interactions, besides: stored.cassette.header.upstreams)
      let assignment = UpstreamAssignment(upstreams)
      var groups = upstreams.map { _ in [(index: Int, interaction: Interaction)]() }
      losses = WireMockExport.losses(of: stored.cassette.header, strings: stored.stringCount)
      for (index, interaction) in interactions.enumerated() {
        if let upstream = assignment.upstream(of: interaction) {
          groups[upstream].append((index, interaction))
        } else {
          losses.append(Loss(places: [index], text: "left out, since its URL belongs to no upstream"))
        }
      }
      let used = upstreams.indices.filter { !groups[$0].isEmpty }
      let isFile = target.hasSuffix(".json")
      guard used.count <= 1 || !isFile else {
        throw CodedError(
          usage:
            "the cassette has \(used.count) upstreams, and WireMock needs mappings for each; give --to a folder, not "
            + target, command: CassetteExport.name)
      }
      for upstream in used {
        let root = used.count > 1 ? "\(target)/\(Self.fileName(upstreams[upstream].name))" : target
        let (bytes, losses) = WireMockExport.write(groups[upstream], origin: upstreams[upstream].origin)
        files.append((isFile ? target : "\(root)/mappings/\(location.name).json", bytes))
        self.losses += losses
      }
    }

    /// Replaces characters that some file systems don't allow.
    private static func fileName(_ name: String) -> String {
      let allowed = "-_.".unicodeScalars
      let safe = name.unicodeScalars.map { scalar -> Character in
        let isLetterOrDigit = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
        return isLetterOrDigit || allowed.contains(scalar) ? Character(scalar) : "_"
      }
      return safe.first == "." ? "_" + String(safe.dropFirst()) : String(safe)
    }
  }
}

extension StoredCassette {
  /// The number of values in the string store.
  fileprivate var stringCount: Int {
    strings.entries.values.reduce(0) { $0 + $1.count { $0 != nil } }
  }
}
