import Basics
import CassetteConversion
import Cassettes
import EnvironmentConfiguration
import Foundation
import LaunchContract

/// File formats. Whatever can be read must survive writing and reading.
enum Files {
  static func har(_ bytes: [UInt8]) throws {
    try again(HAR.read(bytes, name: "fuzzed.har"))
  }

  static func foreign(_ bytes: [UInt8], as format: ImportFormat?) throws {
    let foreign = try ForeignCassette.read(bytes, name: "fuzzed", as: format)
    let cassette = Cassette(
      importing: [foreign], upstreams: [], recordedAt: nil, otherwise: "2018-10-08T09:00:00Z")
    try again(cassette)
    for loss in foreign.losses { _ = loss.line(("entry", "entries")) }
    guard cassette.interactions.allSatisfy({ $0.request.body.isHeld && $0.response.body.isHeld }) else { return }
    let (har, _) = HARExport.write(cassette.interactions)
    unfailing("an exported HAR") { _ = try HAR.read(har, name: "exported.har") }
    let numbered = cassette.interactions.enumerated().map { (index: $0.offset, interaction: $0.element) }
    let (mappings, _) = WireMockExport.write(numbered, origin: nil)
    unfailing("exported mappings") { _ = try JSON.parse(mappings) }
  }

  static func strings(_ bytes: [UInt8]) throws {
    let store = try StringStoreFile.read(bytes, name: "fuzzed.strings.json")
    let written = store.write()
    unfailing("a string store") {
      let same = try StringStoreFile.read(written, name: "written.strings.json").write() == written
      precondition(same, "a string store changed when it was written")
    }
  }

  static func rules(_ bytes: [UInt8]) throws {
    _ = try RuleBook(MatchingRules(decoding: Data(bytes)), upstreams: [])
  }

  static func contract(_ bytes: [UInt8]) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    // A path would open a file.
    guard !text.hasPrefix("file:") else { return }
    let contract = try LaunchContract.read(text, source: "fuzzed")
    let document = try contract.encodedDocument()
    unfailing("a contract") {
      let again = try LaunchContract.read(String(decoding: document, as: UTF8.self), source: "written")
      let same = try again.encodedDocument()
      precondition(same == document, "a contract changed when it was written")
    }
    _ = try contract.launchArguments()
    _ = try contract.userDefaults()
  }

  private static func again(_ cassette: Cassette) throws {
    let written = HAR.write(cassette)
    unfailing("a cassette") {
      let count = try HAR.read(written, name: "written.har").interactions.count
      precondition(count == cassette.interactions.count, "the interactions of a cassette changed when it was written")
    }
  }

  /// Our own output must be valid.
  private static func unfailing(_ what: String, _ read: () throws -> Void) {
    do { try read() } catch { preconditionFailure("\(what) that we have written cannot be read: \(error)") }
  }
}

extension RecordedBody {
  fileprivate var isHeld: Bool {
    if case .bytes = self { true } else { false }
  }
}
