import CassetteConversion
import Cassettes
import LaunchContract

/// The parsers that outsiders' bytes reach, each as one call for a fuzzer.
///
/// What a parser throws is an answer, and a good one. A trap, a hang, or what was read and written and cannot be read
/// again, is a fault. To add a parser, add a case, what it calls, and a folder in `Tests/Fuzzing/Corpus`.
package enum FuzzedParser: String, CaseIterable, Sendable {
  /// Cassettes: HAR, ours or another tool's.
  case har
  /// Cassettes of other tools, whichever the content looks like.
  case foreign
  /// YAML of VCR and vcrpy.
  case yaml
  /// JSON of Vinyl and DVR, with its trailing commas.
  case tape
  /// String stores.
  case strings
  /// Matching rules.
  case rules
  /// Launch contracts.
  case contract
  /// Bodies as they are compared: a line with the `Content-Type`, then the body.
  case body
  /// Multipart bodies as they are compared: a line with the boundary, then the body.
  case multipart
  /// Requests that are not recorded: a line with the target, a line with the `Content-Type`, then the body.
  case miss
  /// Addresses in bodies: a byte for the form of endpoint, then the body.
  case rewriting
  /// Compressed bodies: a line with the `Content-Encoding`, then the body.
  case coding
  /// Bodies whose dates are moved.
  case dates
  /// Redaction rules, and bodies as they are recorded under them: a line with the rules, a line with the `Content-Type`,
  /// then the body.
  case redaction

  /// Parses.
  ///
  /// - Parameter bytes: anything.
  /// - Throws: what the parser throws.
  package func parse(_ bytes: [UInt8]) throws {
    switch self {
    case .har: try Files.har(bytes)
    case .foreign: try Files.foreign(bytes, as: nil)
    case .yaml: try Files.foreign(bytes, as: bytes.count.isMultiple(of: 2) ? .vcr : .vcrpy)
    case .tape: try Files.foreign(bytes, as: bytes.count.isMultiple(of: 2) ? .vinyl : .dvr)
    case .strings: try Files.strings(bytes)
    case .rules: try Files.rules(bytes)
    case .contract: try Files.contract(bytes)
    case .body: Messages.body(bytes)
    case .multipart: Messages.multipart(bytes)
    case .miss: Messages.miss(bytes)
    case .rewriting: try Rewriting.body(bytes)
    case .coding: try Messages.coding(bytes)
    case .dates: try Dates.move(bytes)
    case .redaction: try Redaction.body(bytes)
    }
  }
}
