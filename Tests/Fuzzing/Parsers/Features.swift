import Basics
import Foundation
import Gherkin

/// Feature files: a line with the name of the file, then its text.
enum Features {
  static func file(_ bytes: [UInt8]) throws {
    let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let uri = String(decoding: parts[0], as: UTF8.self)
    let text = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
    let document: GherkinDocument
    do throws(GherkinErrors) { document = try read(text, uri) } catch {
      precondition(!error.description.isEmpty)
      throw error
    }
    let formatted = try GherkinFormatter().format(text, uri: uri)
    do {
      let again = try read(formatted, uri)
      let isSame = try tree(again) == tree(document)
      precondition(isSame, "a feature file changed when it was formatted")
      let isStable = try GherkinFormatter().format(formatted, uri: uri) == formatted
      precondition(isStable, "a feature file changed when it was formatted a second time")
    } catch { preconditionFailure("a formatted feature file cannot be read: \(error)") }
  }

  /// Compiles the pickles as well.
  private static func read(_ text: String, _ uri: String) throws(GherkinErrors) -> GherkinDocument {
    var ids = IDGenerator()
    let document = try GherkinParser().parse(text, uri: uri, ids: &ids)
    let pickles = PickleCompiler.pickles(of: document, ids: &ids)
    precondition(pickles.allSatisfy { $0.steps.allSatisfy { !$0.astNodeIds.isEmpty } })
    return document
  }

  /// The syntax tree without its places, and without comments, which move.
  private static func tree(_ document: GherkinDocument) throws -> JSON {
    try withoutPlaces(JSON.parse([UInt8](JSON.encode(document.feature))))
  }

  private static func withoutPlaces(_ json: JSON) -> JSON {
    switch json {
    case .array(let elements): .array(elements.map(withoutPlaces))
    case .object(let members):
      .object(members.filter { $0.key != "location" }.map { JSON.Member($0.key, withoutPlaces($0.value)) })
    default: json
    }
  }
}
