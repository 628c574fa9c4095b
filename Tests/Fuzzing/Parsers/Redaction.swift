import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages

/// Redaction rules, and bodies out of which they take something, wherever those are cut.
enum Redaction {
  /// Longer ones are not cut at each place: that takes the square of their length.
  private static let limit = 512
  private static let credential = EnvironmentSpecification.Credential(
    service: "clinic", account: "anna", secret: Array("s3cr\"t/7".utf8))

  /// - Parameter bytes: a line with the rules, a line with the `Content-Type`, then the body.
  /// - Throws: what is wrong with the rules.
  static func body(_ bytes: [UInt8]) throws {
    let (text, rest) = Messages.line(bytes[...])
    let (type, body) = Messages.line(rest)
    var rules = try RedactionRules(decoding: Data(text))
    _ = try rules.compiled(from: "fuzzed")
    // One that takes for ever is given up by the clock: at another place each time.
    if !rules.patterns.isEmpty { rules.patterns = ["sk_live_[A-Za-z0-9]+"] }
    let redactor = Redactor([credential], token: "t0k3n-of-this", rules: try rules.compiled(from: "fuzzed"))
    let headers: Headers = ["Content-Type": String(decoding: type, as: UTF8.self)]
    _ = redactor.redact(headers)
    _ = redactor.redactURL(String(decoding: body.prefix(limit), as: UTF8.self))
    let fresh = redactor.body(headers, isDecoded: true)
    let whole = redact([Array(body)], fresh)
    if body.count <= 8 * limit {
      precondition(redact(body.map { [$0] }, fresh) == whole, "a body is another one when it comes byte by byte")
    }
    guard body.count <= limit else { return }
    for cut in body.indices {
      let halves = redact([Array(body[..<cut]), Array(body[cut...])], fresh)
      precondition(halves == whole, "a body is another one when it is cut at \(cut - body.startIndex)")
    }
  }

  private static func redact(_ pieces: [[UInt8]], _ fresh: BodyRedactor) -> [UInt8] {
    var redactor = fresh
    var output: [UInt8] = []
    for piece in pieces { output += redactor.push(piece) }
    return output + redactor.finish()
  }
}
