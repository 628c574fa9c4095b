import Basics
import Foundation
import Gherkin
import Testing

/// A file of Cucumber's test data (see `Fixtures/NOTICE`).
struct GherkinFixture: CustomTestStringConvertible, Sendable {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

  /// The files that can be parsed, `.feature` and `.feature.md`.
  static let good = all(in: "good")
  /// The files with errors.
  static let bad = all(in: "bad")

  /// Such as `good/tags.feature`.
  let name: String

  var testDescription: String { name }

  /// What the expected messages have.
  var uri: String { "../testdata/\(name)" }

  func text() throws -> String { try Self.text(name) }

  /// The lines of the file with what is expected, sorted by member.
  func expected(_ suffix: String) throws -> [JSON] {
    try Self.text("\(name).\(suffix)").split(separator: "\n").map { try JSON.parse(Array($0.utf8)).sorted }
  }

  static func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
  }

  private static func all(in folder: String) -> [GherkinFixture] {
    let path = Self.folder.appending(path: folder).path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0.hasSuffix(".feature") || $0.hasSuffix(".feature.md") }.sorted()
      .map { GherkinFixture(name: "\(folder)/\($0)") }
  }
}

extension Envelope {
  /// The message as it would be written.
  func json() throws -> JSON { try JSON.parse(Array(JSON.encode(self))).sorted }
}

extension JSON {
  /// The value with all members sorted by name.
  var sorted: JSON {
    switch self {
    case .array(let elements): .array(elements.map(\.sorted))
    case .object(let members):
      .object(members.map { Member($0.key, $0.value.sorted) }.sorted { $0.key < $1.key })
    default: self
    }
  }
}
