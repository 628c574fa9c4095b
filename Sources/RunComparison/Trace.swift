import Basics
package import ControlAPI
package import Foundation

/// What one run of a command or test did, as far as it is compared with other runs.
package struct Trace: Sendable {
  /// A request of the command.
  struct Request: Sendable {
    /// Its number in the run, from 1, in the order of the answers.
    var number: Int
    /// How many requests had been answered when it arrived; nil if that is not known.
    var answeredBefore: Int?
    var method: String
    var url: String
    var headers: [Header]
    /// Nil if it is too large, or was not read completely.
    var body: [UInt8]?
    var size: Int?
    /// Equal for requests that the matching rules make equal; nil if nothing is replayed.
    var key: String?
    var answer: Answer
    /// The content of `diorama.json` that makes it match, if it is unmatched and there is one.
    var rule: String?
  }

  struct Header: Sendable, Hashable {
    var name: String
    var value: String
  }

  /// What answered a request.
  struct Answer: Sendable, Equatable {
    /// As in the journal: `replayed`, `unmatched` and so on.
    var kind: String
    var status: Int
    var interaction: Int?

    var text: String {
      switch kind {
      case "replayed": interaction.map { "interaction \($0)" } ?? "the cassette"
      case "unmatched": "nothing (not recorded)"
      case "mocked": "a stub, status \(status)"
      case "left": "nothing (cancelled by the command)"
      default: "\(kind), status \(status)"
      }
    }
  }

  /// What is known about a run besides what it did. Values that differ are compared with it.
  package struct Facts: Sendable {
    /// The number of the run, from 1.
    package var run: Int
    /// When it was started and when it had ended, in seconds since 1970.
    var time: ClosedRange<Double>
    /// The process IDs that the system assigned during the run; nil if unknown.
    var processes: ClosedRange<Int>?

    /// - Parameters:
    ///   - run: the number of the run, from 1.
    ///   - time: when it was started and when it had ended, in seconds since 1970.
    ///   - processes: the process IDs that the system assigned during the run; nil if unknown.
    package init(run: Int, time: ClosedRange<Double>, processes: ClosedRange<Int>? = nil) {
      self.run = run
      self.time = time
      self.processes = processes
    }
  }

  /// The largest output in bytes that is compared.
  package static let outputLimit = 4 << 20

  package var facts: Facts
  var requests: [Request] = []
  var output: [UInt8] = []
  var errors: [UInt8] = []
  /// The exit status of the command itself.
  var commandStatus: Int32 = 0
  /// The exit status of the run: that of the command, or 3 if only its environment failed.
  package var status: Int32 = 0
  var strings = Report.Strings()
  var toggles: [String: JSON] = [:]
  package private(set) var failures: [String] = []
}

extension Trace {
  /// Describes a run whose failures are all that is known.
  ///
  /// - Parameters:
  ///   - facts: what is known about the run.
  ///   - failures: what failed.
  package init(facts: Facts, failures: [String]) {
    self.facts = facts
    self.failures = failures
  }

  /// Reads a journal file.
  ///
  /// - Parameter file: the entries, as NDJSON.
  /// - Returns: the entries.
  /// - Throws: the error of an entry that cannot be decoded.
  package static func entries(of file: Data) throws -> [JournalPage.Entry] {
    let decoder = JSONDecoder()
    return try file.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(JournalPage.Entry.self, from: $0) }
  }

  /// - Parameters:
  ///   - facts: what is known about the run.
  ///   - journal: its journal, with requests if they are known.
  ///   - report: its report.
  ///   - failures: what failed in addition to the report's failures.
  ///   - status: its exit status.
  ///   - output: its standard output.
  ///   - errors: its standard error.
  package init(
    facts: Facts, journal: [JournalPage.Entry], report: Report, failures: [String] = [], status: Int32,
    output: [UInt8], errors: [UInt8]
  ) {
    let names = OwnNames(report.variables ?? [:])
    self.facts = facts
    self.status = status
    commandStatus = report.commandStatus ?? status
    strings = report.strings
    toggles = report.toggles.read
    self.failures = (failures + report.failures).map(names.replaced)
    self.output = names.replaced(Array(output.prefix(Self.outputLimit)))
    self.errors = names.replaced(Array(errors.prefix(Self.outputLimit)))
    let rules = report.unmatched.reduce(into: [String: String]()) { rules, unmatched in
      guard let setting = unmatched.fix?.setting else { return }
      rules["\(unmatched.method) \(unmatched.url)"] = String(decoding: setting.encoded(.line), as: UTF8.self)
    }
    // The numbers of the requests among the entries, to count those before an entry.
    var entries: [Int] = []
    for entry in journal {
      guard !["note", "clock", "string"].contains(entry.kind) else { continue }
      entries.append(entry.number)
      let sent = entry.request
      requests.append(
        Request(
          number: entries.count,
          // Those after it are few: the requests that were in progress at once.
          answeredBefore: sent.map { sent in (entries.lastIndex { $0 <= sent.after } ?? -1) + 1 },
          method: entry.method, url: names.replaced(sent?.url ?? entry.url),
          headers: (sent?.headers ?? []).map { Self.header($0, names) },
          body: sent?.body.map { names.replaced([UInt8]($0)) }, size: sent?.size, key: sent?.key,
          answer: Answer(kind: entry.kind, status: entry.status, interaction: entry.interaction),
          rule: entry.kind == "unmatched" ? rules["\(entry.method) \(entry.url)"] : nil))
    }
  }

  private static func header(_ line: String, _ names: OwnNames) -> Header {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    return Header(
      name: String(parts[0]), value: names.replaced(parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""))
  }
}

/// Replaces what Diorama itself chooses for a run (its endpoints, its id, ports for the command) by the names of the
/// variables that have it. Such values differ in every run, and the command is not the cause.
struct OwnNames: Sendable {
  private struct Value {
    var text: [UInt8]
    var name: [UInt8]
    /// Whether it is replaced only as a port: after a colon, or the word `port`.
    var isPort = false
  }

  private var values: [Value] = []

  /// - Parameter variables: the variables that the command got.
  init(_ variables: [String: String]) {
    for (name, value) in variables.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) }) {
      guard value.utf8.count >= 4 else { continue }
      values.append(Value(text: Array(value.utf8), name: Array("$\(name)".utf8)))
      guard let colon = value.lastIndex(of: ":"), value.hasPrefix("http://127.0.0.1:") else { continue }
      let port = value[value.index(after: colon)...].prefix { $0.isNumber }
      values.append(Value(text: Array(port.utf8), name: Array("<port of \(name)>".utf8), isPort: true))
    }
    // Whole URLs first.
    values = values.filter { !$0.isPort } + values.filter(\.isPort)
  }

  func replaced(_ text: String) -> String { String(decoding: replaced(Array(text.utf8)), as: UTF8.self) }

  func replaced(_ text: [UInt8]) -> [UInt8] {
    guard !values.isEmpty else { return text }
    var starts = [Bool](repeating: false, count: 256)
    for value in values { starts[Int(value.text[0])] = true }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      if starts[Int(text[index])], let value = values.first(where: { isAt(index, $0, text) }) {
        result += value.name
        index += value.text.count
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }

  private func isAt(_ index: Int, _ value: Value, _ text: [UInt8]) -> Bool {
    let end = index + value.text.count
    guard end <= text.count, text[index..<end].elementsEqual(value.text) else { return false }
    // Not in the middle of another number or word.
    if end < text.count, text[end].isWordByte { return false }
    guard index > 0 else { return !value.isPort }
    if text[index - 1].isWordByte { return false }
    guard value.isPort, text[index - 1] != UInt8(ascii: ":") else { return true }
    let before = String(decoding: text[max(0, index - 12)..<index], as: UTF8.self).lowercased()
    return before.contains("port")
  }
}

extension UInt8 {
  /// Whether it is an ASCII digit.
  var isDigitByte: Bool { 0x30...0x39 ~= self }

  /// Whether it is an ASCII letter or digit, or part of another character.
  var isWordByte: Bool { isDigitByte || 0x61...0x7A ~= (self | 0x20) || self >= 0x80 }
}
