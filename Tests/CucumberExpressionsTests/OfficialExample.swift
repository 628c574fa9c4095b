import Foundation
import Testing

@testable import CassetteConversion

/// An example of the official test data.
struct OfficialExample: CustomTestStringConvertible, Sendable {
  let name: String
  let yaml: YAMLNode

  var testDescription: String { name }
  var expression: String { yaml["expression"]?.text ?? "" }
  var text: String { yaml["text"]?.text ?? "" }
  var exception: String? { yaml["exception"]?.text }

  /// The files in a folder, in order.
  static func files(_ folder: String) throws -> [OfficialExample] {
    let folder = fixtures.appendingPathComponent(folder)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
      let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
      return OfficialExample(name: name, yaml: try YAMLReader.parse(bytes, name: name))
    }
  }

  /// The elements of a file.
  static func elements(_ path: String) throws -> [OfficialExample] {
    let bytes = [UInt8](try Data(contentsOf: fixtures.appendingPathComponent(path)))
    return (try YAMLReader.parse(bytes, name: path).sequence ?? []).map { yaml in
      OfficialExample(name: yaml["expression"]?.text ?? "", yaml: yaml)
    }
  }

  private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Fixtures")
}
