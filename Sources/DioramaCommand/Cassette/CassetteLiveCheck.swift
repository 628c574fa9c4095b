import Basics
import CassetteChecks
import Cassettes
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages

/// `diorama cassette check --live`: compares cassettes with their upstreams.
enum CassetteLiveCheck {
  static func run(_ options: Options, command: String, terminal: Terminal) throws -> Int32 {
    let access = try AccessOptions(options, command: command, withHeaders: false).access
    for (name, one) in access.sorted(by: { $0.key < $1.key }) { try one.checkFiles(of: name) }
    let check = LiveCheck(
      upstreams: try upstreams(options, command: command), replacements: try replacements(options, command: command),
      access: access,
      seconds: try options.seconds("--timeout", upTo: 86_400, command: command) ?? 30)
    let project = try ConfigurationOptions.project(options)
    var status: Int32 = 0
    var results: [Result] = []
    for location in try CassetteCommand.locations(options, command: command, acceptsFolders: true) {
      do {
        try location.checkForSideFiles()
        let stored = try CassetteReader.read(location)
        let found = try terminal.progress("repeating the requests of \(location.har):") { progress in
          try blocking { () async -> Swift.Result<LiveCheck.Result, any Error> in
            do {
              let rules = project?.settings(for: location.base).redaction
              return .success(
                try await check.run(stored, location, redacting: rules ?? .init()) { progress.show($0, of: $1) })
            } catch { return .failure(error) }
          }.get()
        }
        let result = Result(found, stored.cassette, location, withValues: options.has("--values"))
        results.append(result)
        if !options.has("--json") { try Output.write(lines: result.lines) }
        for failure in found.failures { terminal.error(failure) }
        if !found.failures.isEmpty {
          status = worse(status, CodedError.Kind.noUpstream.rawValue)
        } else if !result.same {
          status = worse(status, DriftStatus.changed)
        }
      } catch let error as CodedError where error.kind != .usage {
        terminal.error(error.message)
        status = worse(status, error.kind.rawValue)
      }
    }
    if options.has("--json") { try Output.write(json: results) }
    return status
  }

  /// Combines exit statuses: an error outweighs a change, and the first of two errors counts.
  static func worse(_ status: Int32, _ other: Int32) -> Int32 { status <= DriftStatus.changed ? other : status }

  private static func upstreams(_ options: Options, command: String) throws(CodedError) -> [CassetteHeader.Upstream] {
    var upstreams: [CassetteHeader.Upstream] = []
    for text in options.all("--upstream") {
      let (name, url) = try pair(text, option: "--upstream", form: "NAME=URL", command: command)
      guard !upstreams.contains(where: { $0.name == name }) else {
        throw CodedError(usage: "--upstream \(name) is given twice", command: command)
      }
      do { upstreams.append(.init(name: name, origin: try Origin(parsing: url))) } catch {
        throw CodedError(usage: "--upstream \(name): \(error)", command: command)
      }
    }
    return upstreams
  }

  /// Parses `--header UPSTREAM/NAME=env:VAR`. Secrets are never on the command line itself.
  private static func replacements(_ options: Options, command: String) throws -> [LiveQuestions.Replacement] {
    try options.all("--header").map { text in
      let header = try HeaderOption(text, command: command, allowsPlain: false)
      return .init(
        backend: header.upstream, name: header.name, value: try header.value(ProcessInfo.processInfo.environment))
    }
  }

  private struct Result: Encodable {
    struct Entry: Encodable {
      var interaction: Int
      var method: String
      var url: String
      var changes: ChangeListing
      /// Changes that another state of the upstream may explain, and the interaction that changed it.
      var doubtful: [ChangeListing.Item]?
      var after: Int?
      var hint: String?
    }

    struct Left: Encodable {
      var interactions: [Int]
      var why: String
    }

    var cassette: String
    var recordedAt: String?
    /// How many distinct requests were repeated.
    var repeated: Int
    /// Whether the shape is unchanged and all upstreams responded.
    var same: Bool
    var interactions: [Entry]
    var notRepeated: [Left]
    var failures: [String]
    private var afters: [Int: String] = [:]

    enum CodingKeys: CodingKey {
      case cassette, recordedAt, repeated, same, interactions, notRepeated, failures
    }

    init(_ found: LiveCheck.Result, _ cassette: Cassette, _ location: CassetteLocation, withValues: Bool) {
      self.cassette = location.har
      recordedAt = cassette.header.recordedAt
      repeated = found.repeated
      same = found.failures.isEmpty && found.findings.allSatisfy { $0.changes.shape.isEmpty }
      interactions = found.findings.map { finding in
        Entry(
          interaction: finding.interaction, method: finding.method, url: finding.url,
          changes: ChangeListing(finding.changes, withValues: withValues),
          doubtful: finding.doubtful.isEmpty ? nil : finding.doubtful.map(ChangeListing.Item.init),
          after: finding.after, hint: finding.hint)
      }
      notRepeated = found.left.map { Left(interactions: $0.interactions, why: $0.reason) }
      failures = found.failures
      for index in found.findings.compactMap(\.after) {
        let request = cassette.interactions[index].request
        afters[index] = "\(request.method) \(RecordedURL(request.url).target)"
      }
    }

    var lines: [String] {
      let drifted = interactions.count { !$0.changes.shape.isEmpty }
      var lines = [
        "\(cassette): \(counted(repeated, "request")) repeated, "
          + (drifted == 0 ? "none changed in shape" : "\(drifted) changed in shape")
      ]
      var folded = 0
      var foldedValues = 0
      for entry in interactions {
        if entry.changes.shape.isEmpty, entry.doubtful == nil, entry.changes.values == nil {
          folded += 1
          foldedValues += entry.changes.valueCount
          continue
        }
        lines.append("interaction \(entry.interaction), \(entry.method) \(entry.url)")
        lines += entry.changes.lines()
        if let doubtful = entry.doubtful, let after = entry.after {
          lines.append(
            "  recorded after \(afters[after] ?? "another request") (interaction \(after)): state may differ")
          lines += doubtful.map { "    \($0.text)" }
        }
        if let hint = entry.hint { lines.append("  \(hint)") }
      }
      if folded > 0 {
        lines.append("\(counted(foldedValues, "value")) of \(counted(folded, "answer")) changed (--values shows them)")
      }
      for left in notRepeated {
        lines.append(Loss(places: left.interactions, text: left.why).line(("interaction", "interactions")))
      }
      return lines
    }
  }
}
