import Transforms
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages

/// Redacts bodies by fuzzed rules, cut into pieces at every place.
enum Redaction {
  /// Longer bodies are not split at every place, which takes quadratic time.
  private static let limit = 512
  private static let credential = (name: "clinic/anna", secret: Array("s3cr\"t/7".utf8))

  /// - Parameter bytes: a line with the rules, a line with the `Content-Type`, then the body.
  /// - Throws: an error for invalid rules.
  static func body(_ bytes: [UInt8]) throws {
    let (text, rest) = Messages.line(bytes[...])
    let (type, body) = Messages.line(rest)
    var rules = try RedactionRules(decoding: Data(text))
    let own = Redactor([], token: "", rules: try rules.compiled())
    _ = own.redact(String(decoding: body.prefix(limit), as: UTF8.self))
    // A slow pattern would take all of its steps for each of the splits below.
    if !rules.patterns.isEmpty { rules.patterns = ["sk_live_[A-Za-z0-9]+"] }
    let redactor = Redactor([credential], token: "t0k3n-of-this", rules: try rules.compiled())
    let headers: Headers = ["Content-Type": String(decoding: type, as: UTF8.self)]
    _ = redactor.redact(headers)
    _ = redactor.redactURL(String(decoding: body.prefix(limit), as: UTF8.self))
    let fresh = redactor.body(headers, isDecoded: true)
    let whole = redact([Array(body)], fresh)
    if body.count <= 8 * limit {
      precondition(redact(body.map { [$0] }, fresh) == whole, "the result differs for a body in single bytes")
    }
    guard body.count <= limit else { return }
    for cut in body.indices {
      let halves = redact([Array(body[..<cut]), Array(body[cut...])], fresh)
      precondition(halves == whole, "the result differs for a body split at \(cut - body.startIndex)")
    }
  }

  private static func redact(_ pieces: [[UInt8]], _ fresh: BodyRedactor) -> [UInt8] {
    var redactor = fresh
    var output: [UInt8] = []
    for piece in pieces { output += redactor.push(piece) }
    return output + redactor.finish()
  }
}
