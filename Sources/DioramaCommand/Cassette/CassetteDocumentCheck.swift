import Basics
import CassetteChecks
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages

/// `diorama cassette check --openapi`: compares cassettes with an OpenAPI document.
enum CassetteDocumentCheck {
  static func run(_ options: Options, command: String, terminal: Terminal) throws -> Int32 {
    let file = options.value("--openapi") ?? ""
    let bytes = try WholeFiles.read(file, acceptsPipes: true)
    let document: OpenAPIDocument
    document = try OpenAPIDocument(bytes, name: file)
    // Accepts NAME=URL, too, as other commands do.
    let named = Set(options.all("--upstream").map { String($0.prefix { $0 != "=" }) })
    var status: Int32 = 0
    var results: [Result] = []
    for location in try CassetteCommand.locations(options, command: command, acceptsFolders: true) {
      do {
        let stored = try CassetteReader.read(location)
        let check = try check(stored, location, document, named, terminal: terminal)
        let result = Result(check, document: file, location: location)
        results.append(result)
        if !options.has("--json") { try Output.write(lines: result.lines) }
        if !result.same { status = CassetteLiveCheck.worse(status, DriftStatus.changed) }
      } catch {
        terminal.error(error.message)
        status = CassetteLiveCheck.worse(status, error.kind.rawValue)
      }
    }
    if options.has("--json") { try Output.write(json: results) }
    return status
  }

  private static func check(
    _ stored: StoredCassette, _ location: CassetteLocation, _ document: OpenAPIDocument, _ named: Set<String>,
    terminal: Terminal
  ) throws(CodedError) -> DocumentCheck {
    let recording = Recording(stored.cassette) { try CassetteReader.bytes(of: $0, in: location) }
    let names = Set(recording.backends)
    if let unknown = named.subtracting(names).sorted().first {
      throw CodedError(
        .usage,
        "\(location.har) has no interactions of upstream '\(unknown)'; choose from "
          + alternatives(names.sorted()))
    }
    guard !named.isEmpty || names.count <= 1 else {
      throw CodedError(
        .usage,
        "\(location.har) has several upstreams (\(names.sorted().joined(separator: ", "))); choose one with "
          + "--upstream NAME")
    }
    do {
      return try terminal.progress("reading \(location.har)") {
        try DocumentCheck(recording, against: document, backends: named.isEmpty ? nil : named)
      }
    } catch {
      throw error as? CodedError ?? CodedError(.broken, "\(location.har): \(error)")
    }
  }

  private struct Result: Encodable {
    struct Finding: Encodable {
      var interaction: Int
      var method: String
      var url: String
      /// `unknown`: not in the document; `contradiction`: differs from the document.
      var what: String
      var part: String
      /// JSON pointers into the body, and (`rule`) into the document.
      var place: String?
      var rule: String
      /// How many further elements of an array have the same problem.
      var more: Int
      var text: String
    }

    struct Unsupported: Encodable {
      var rule: String
      var text: String
    }

    var cassette: String
    var document: String
    var checked: Int
    /// Whether there are no findings.
    var same: Bool
    var findings: [Finding]
    /// Parts of the document that were skipped.
    var unsupported: [Unsupported]
    private var findingLines: [String] = []

    enum CodingKeys: CodingKey {
      case cassette, document, checked, same, findings, unsupported
    }

    init(_ check: DocumentCheck, document: String, location: CassetteLocation) {
      cassette = location.har
      self.document = document
      checked = check.checked
      same = check.findings.isEmpty
      findings = check.findings.map { finding in
        let request = check.recording.interactions[finding.interaction].request
        return Finding(
          interaction: finding.interaction, method: request.method, url: request.url,
          what: finding.isUnknown ? "unknown" : "contradiction", part: finding.part, place: finding.place,
          rule: finding.rule, more: finding.more, text: finding.text)
      }
      unsupported = check.unsupported.map { Unsupported(rule: $0.pointer, text: $0.text) }
      var last: Int?
      for finding in check.findings {
        if finding.interaction != last {
          findingLines.append("interaction \(finding.interaction), \(check.recording.title(finding.interaction))")
        }
        last = finding.interaction
        findingLines.append("  \(finding.line)")
      }
    }

    var lines: [String] {
      let verdict =
        same ? "all match \(document)" : "\(Set(findings.map(\.interaction)).count) not matching \(document)"
      let head = "\(cassette): \(counted(checked, "interaction")), \(verdict)"
      let rest = unsupported.map { "not checked: \($0.rule): \($0.text)" }
      return [head] + findingLines + rest
    }
  }
}
