import CassetteConversion
import Cassettes
import LaunchContract

/// The parsers of untrusted bytes, each as one call for a fuzzer.
///
/// Errors thrown by a parser are fine. A trap, a hang, or output that cannot be read again is a defect. To add a parser,
/// add a case, its call, and a folder in `Tests/Fuzzing/Corpus`.
package enum FuzzedParser: String, CaseIterable, Sendable {
  /// HAR cassettes, our own and those of other tools.
  case har
  /// Cassettes of other tools, detected by content.
  case foreign
  /// YAML of VCR and vcrpy.
  case yaml
  /// JSON of Vinyl and DVR, with trailing commas.
  case tape
  /// String stores.
  case strings
  /// Matching rules.
  case rules
  /// Launch contracts.
  case contract
  /// Compared bodies: a line with the `Content-Type`, then the body.
  case body
  /// Compared multipart bodies: a line with the boundary, then the body.
  case multipart
  /// Misses: a line with the target, a line with the `Content-Type`, then the body.
  case miss
  /// URLs in bodies: a byte for the form of endpoint, then the body.
  case rewriting
  /// Compressed bodies: a line with the `Content-Encoding`, then the body.
  case coding
  /// Dates in bodies.
  case dates
  /// Redaction rules and redacted bodies: a line with the rules, a line with the `Content-Type`, then the body.
  case redaction
  /// Mappings of stubs: a line with the mapping, then the body of a request, which is also a template.
  case stubs
  /// Collections: a line with the file, a line with method and target, then the body of a request.
  case collections
  /// OpenAPI documents, and the answer of the first operation.
  case openapi
  /// gRPC messages with their schema: the length of a file descriptor in two bytes, the descriptor, then the message.
  case grpc
  /// Feature files: a line with the name of the file, then its text.
  case gherkin
  /// Expressions of steps and tags: a line with the expression, then the text of a step.
  case expressions

  /// Runs the parser.
  ///
  /// - Parameter bytes: anything.
  /// - Throws: the parser's errors.
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
    case .stubs: try StubFiles.mapping(bytes)
    case .collections: try StubFiles.collections(bytes)
    case .openapi: try StubFiles.openAPI(bytes)
    case .grpc: try GRPCMessages.message(bytes)
    case .gherkin: try Features.file(bytes)
    case .expressions: try Expressions.read(bytes)
    }
  }
}
