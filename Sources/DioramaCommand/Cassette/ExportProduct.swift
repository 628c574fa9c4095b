import CassetteConversion
import Cassettes
import EnvironmentService
import HTTPMessages

extension CassetteExport {
  /// The files of an export, not yet written, and what they do not have.
  struct Product {
    var files: [(path: String, bytes: [UInt8])] = []
    var losses: [Loss] = []

    /// One HAR.
    init(har interactions: [Interaction], of stored: StoredCassette, to file: String) {
      let (bytes, losses) = HARExport.write(interactions)
      files = [(file, bytes)]
      self.losses = HARExport.losses(of: stored.cassette.header, strings: stored.stringCount) + losses
    }

    /// A file of mappings for each backend: WireMock has one address, and takes what it is asked there for the same
    /// whatever backend it was meant for.
    init(
      wireMock interactions: [Interaction], of stored: StoredCassette, _ location: CassetteLocation, to target: String
    ) throws(UsageError) {
      let upstreams = Cassette.upstreams(of: interactions, besides: stored.cassette.header.upstreams)
      let assignment = UpstreamAssignment(upstreams)
      var groups = upstreams.map { _ in [(index: Int, interaction: Interaction)]() }
      losses = WireMockExport.losses(of: stored.cassette.header, strings: stored.stringCount)
      for (index, interaction) in interactions.enumerated() {
        if let upstream = assignment.upstream(of: interaction) {
          groups[upstream].append((index, interaction))
        } else {
          losses.append(Loss(places: [index], text: "its URL names no backend: it is left out"))
        }
      }
      let used = upstreams.indices.filter { !groups[$0].isEmpty }
      let isFile = target.hasSuffix(".json")
      guard used.count <= 1 || !isFile else {
        throw UsageError(
          "the cassette has \(used.count) backends, and WireMock needs mappings for each; name a folder with --to, not "
            + target, command: CassetteExport.command)
      }
      for upstream in used {
        let root = used.count > 1 ? "\(target)/\(Self.fileName(upstreams[upstream].name))" : target
        let (bytes, losses) = WireMockExport.write(groups[upstream], origin: upstreams[upstream].origin)
        files.append((isFile ? target : "\(root)/mappings/\(location.name).json", bytes))
        self.losses += losses
      }
    }

    /// A name that is a file's on every system.
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
  /// How many values its string store has.
  fileprivate var stringCount: Int {
    strings.entries.values.reduce(0) { $0 + $1.count { $0 != nil } }
  }
}
