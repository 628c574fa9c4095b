import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation

/// `diorama rules`: rules for requests that miss.
enum RulesCommand {
  static let command = Command(
    "rules", "suggest rules for requests that do not match", usage: ["rules suggest CASSETTE --from REPORT"],
    about: "Rules are in the project file, diorama.json.", subcommands: [RulesSuggest.command])
}

/// `diorama rules suggest`: prints or writes the settings that make the misses of a report match.
enum RulesSuggest {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let locations = try CassetteCommand.locations(options, command: name)
    guard locations.count == 1, let location = locations.first else {
      throw CodedError(usage: "suggest takes one cassette at a time", command: name)
    }
    guard let file = options.value("--from") else {
      throw CodedError(
        usage: "--from is missing; give a report from: diorama run --report FILE", command: name)
    }
    let report = try read(file)
    try check(report, from: file, isOf: location)
    let interactions = try CassetteReader.read(location).cassette.interactions
    let project = try ConfigurationOptions.project(options)
    let suggestions = try Suggestions(report, interactions, besides: project, cassette: location)
    let path = project?.path ?? "\(FileManager.default.currentDirectoryPath)/\(ProjectFile.name)"
    var result = Result(suggestions, file: path)
    if options.has("--write"), !suggestions.isEmpty {
      try write(suggestions, to: path, isNew: project == nil)
      result.isWritten = true
    }
    if options.has("--json") {
      try Output.write(json: result)
    } else {
      try Output.write(raw: suggestions.isEmpty ? "" : suggestions.text)
      for line in result.lines(
        advice: "diorama \(name) \(options.arguments.map(ShellWord.quoted).joined(separator: " "))")
      {
        terminal.line(line)
      }
    }
    return 0
  }

  private static func read(_ file: String) throws(CodedError) -> Report {
    let bytes = try WholeFiles.read(file, acceptsPipes: true)
    do {
      return try JSONDecoder().decode(Report.self, from: Data(bytes))
    } catch {
      throw CodedError(
        .broken,
        "\(file) is not a report; give a file written by diorama run --report or diorama env report --json")
    }
  }

  /// A report made on another machine names another folder, so only the names are compared.
  private static func check(_ report: Report, from file: String, isOf location: CassetteLocation) throws(CodedError) {
    guard let har = report.cassette else {
      throw CodedError(.broken, "\(file) is the report of a run without a cassette; give that of a replay")
    }
    let name = (har as NSString).lastPathComponent
    guard name == (location.har as NSString).lastPathComponent else {
      throw CodedError(.broken, "\(file) is a report of \(har), not of \(location.har); name that cassette")
    }
  }

  /// Adds the settings to the project file, which keeps everything else, or creates it.
  private static func write(_ suggestions: Suggestions, to path: String, isNew: Bool) throws(CodedError) {
    var bytes = isNew ? Array("{}\n".utf8) : try WholeFiles.read(path)
    if isNew {
      bytes = Array(suggestions.text.utf8)
    } else {
      for (place, elements) in suggestions.entries {
        bytes = try CodedError.translating(at: path, try JSONEdit.appending(elements, at: place, to: bytes))
      }
    }
    // What cannot be read back is not written.
    let file = try ProjectFile(decoding: Data(bytes), path: path)
    try CodedError.translating(
      at: path, try RuleBook(file.settings.matching ?? MatchingRules(), upstreams: []))
    // A link stays one.
    let real = (path as NSString).resolvingSymlinksInPath
    let mode = try? FileManager.default.attributesOfItem(atPath: real)[.posixPermissions]
    try WholeFiles.write([(real, bytes)], isReplacing: true)
    if let mode { try? FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: real) }
  }

  /// The settings for all misses of a report.
  private struct Suggestions {
    /// A miss that no setting makes match.
    struct Open: Encodable {
      var method: String
      var url: String
      var advice: String
    }

    private(set) var rules: [MatchingRules.Rule] = []
    private(set) var redaction = RedactionRules()
    /// How many misses the settings make match.
    private(set) var count = 0
    /// How many misses the project file covers already.
    private(set) var covered = 0
    private(set) var open: [Open] = []

    var isEmpty: Bool { rules.isEmpty && redaction == RedactionRules() }

    init(
      _ report: Report, _ interactions: [Interaction], besides project: ProjectFile?, cassette: CassetteLocation
    ) throws(CodedError) {
      let present =
        project?.settings(for: URL(fileURLWithPath: cassette.description).standardizedFileURL.path)
        ?? EnvironmentConfiguration()
      let presentRules = Set((present.matching?.rules ?? []).map(\.document))
      // Rules for some cassettes come after those for all, and what they compare counts.
      let isOverridden = (present.matching?.rules.count ?? 0) > (project?.settings.matching?.rules.count ?? 0)
      var found: [MatchingRules.Rule] = []
      for miss in report.unmatched {
        func leave(_ advice: String) { open.append(Open(method: miss.method, url: miss.url, advice: advice)) }
        guard let fix = miss.fix else {
          leave(miss.refusal ?? "the report does not say why; run it again")
          continue
        }
        guard fix.rule != nil || fix.redaction != nil else {
          leave(fix.advice)
          continue
        }
        guard let index = fix.interaction, interactions.indices ~= index,
          miss.nearest.contains(where: { $0.index == index && $0.method == interactions[index].request.method })
        else {
          leave("the cassette has changed since the report; run it again")
          continue
        }
        if let redaction = fix.redaction {
          let missing = redaction.missing(in: present.redaction ?? RedactionRules())
          if missing == RedactionRules() { covered += 1 } else { count += 1 }
          self.redaction = self.redaction.adding(missing)
        } else if let rule = fix.rule {
          if presentRules.contains(rule.document) {
            covered += 1
          } else if isOverridden, rule.compare != .init() || !rule.ignore.headers.isEmpty {
            let text = String(decoding: rule.document.encoded(.line), as: UTF8.self)
            leave("rules of the overrides come later; add this one to them: \(text)")
          } else {
            count += 1
            found.append(rule)
          }
        }
      }
      rules = SuggestedRules.combined(found)
      // A report may come from anywhere.
      _ = try CodedError.translating(at: "the report", try RuleBook(MatchingRules(rules: rules), upstreams: []))
    }

    /// Arrays in the project file, with what to add to them.
    var entries: [(place: [String], elements: [JSON])] {
      var entries: [(place: [String], elements: [JSON])] = []
      if !rules.isEmpty { entries.append((["matching", "rules"], rules.map(\.document))) }
      for (name, values) in [
        ("headers", redaction.headers), ("query", redaction.query), ("json", redaction.json), ("form", redaction.form),
      ] where !values.isEmpty {
        entries.append((["redaction", name], values.map { .string($0) }))
      }
      return entries
    }

    /// The whole of a project file that has nothing else.
    var text: String {
      var members: [String] = []
      if !rules.isEmpty {
        let lines = rules.map { "  " + String(decoding: $0.document.encoded(.line), as: UTF8.self) }
        members.append("\"matching\": {\"rules\": [\n\(lines.joined(separator: ",\n"))\n]}")
      }
      if redaction != RedactionRules() {
        members.append("\"redaction\": " + String(decoding: redaction.document.encoded(.line), as: UTF8.self))
      }
      return "{" + members.joined(separator: ",\n ") + "}\n"
    }
  }

  private struct Result: Encodable {
    var rules: [MatchingRules.Rule]
    var redaction: RedactionRules?
    /// How many misses of the report the settings make match.
    var misses: Int
    /// How many the project file covers already.
    var covered: Int
    /// The other misses.
    var open: [Suggestions.Open]
    /// The project file.
    var file: String
    var isWritten = false

    init(_ suggestions: Suggestions, file: String) {
      rules = suggestions.rules
      redaction = suggestions.redaction == RedactionRules() ? nil : suggestions.redaction
      misses = suggestions.count
      covered = suggestions.covered
      open = suggestions.open
      self.file = file
    }

    func lines(advice: String) -> [String] {
      var lines: [String] = []
      let settings = [
        rules.isEmpty ? nil : counted(rules.count, "rule"), redaction.map { _ in "redaction" },
      ].compactMap(\.self).joined(separator: " and ")
      if settings.isEmpty {
        if !open.isEmpty {
          lines.append("no rule makes these requests match:")
        } else {
          lines.append(covered == 0 ? "the report has no misses" : "no rule to add")
        }
      } else {
        let what = "\(settings) for \(counted(misses, "request"))"
        lines.append(isWritten ? "added \(what) to \(file)" : "\(what); to add to \(file): \(advice) --write")
      }
      if covered > 0 { lines.append("\(file) covers \(counted(covered, "request")) already") }
      let start = settings.isEmpty ? "" : "no rule for "
      for miss in open.prefix(20) { lines.append("\(start)\(miss.method) \(miss.url): \(miss.advice)") }
      if open.count > 20 { lines.append("… and \(open.count - 20) more; --json lists them") }
      return lines
    }
  }

  private static let name = "rules suggest"

  private static let table: [Options.Option] = [
    .init("--from", "REPORT", "the report of a replay, from: diorama run --report REPORT"),
    .init("--write", nil, "add the settings to the project file; all else in it stays as it is"),
    .init("--config", "FILE", "the project file (default: the diorama.json of this folder or above)"),
    .init("--json", nil, "print the settings, and the misses that need something else, as JSON"),
  ]

  static let command = Command(
    name, "print the settings that make missed requests match",
    usage: ["rules suggest CASSETTE --from REPORT [option …]"],
    about: """
      Prints the settings of diorama.json that make the misses of a report match:
      rules that ignore values which differ in every run, such as times, UUIDs,
      nonces, counters and signatures. Each was checked by comparing both requests
      with it. Requests for something else get no rule; standard error says what to
      do about them.
      """, options: table, operands: .files, run: run)
}

extension RedactionRules {
  /// These rules without those that others have, too.
  fileprivate func missing(in others: RedactionRules) -> RedactionRules {
    var missing = self
    missing.headers.removeAll(where: others.headers.contains)
    missing.query.removeAll(where: others.query.contains)
    missing.json.removeAll(where: others.json.contains)
    missing.form.removeAll(where: others.form.contains)
    return missing
  }
}
