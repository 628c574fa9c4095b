@testable import CassetteConversion
import Foundation

@testable import Cassettes

/// A file of another tool, written by that tool or like it.
enum Fixture: String, CaseIterable {
  /// From vcrpy 9 (YAML), with calls by http.client.
  case vcrpy = "vcrpy.yaml"
  /// The same from its JSON serializer.
  case vcrpyJSON = "vcrpy.json"
  /// From mitmdump 11 with `hardump`.
  case mitmproxy = "mitmproxy.har"
  case chrome = "chrome.har"
  case firefox = "firefox.har"
  case vcr = "vcr.yml"
  case vinyl = "vinyl.json"
  case dvr = "dvr.json"

  /// The format that it must be detected as.
  var format: ImportFormat {
    switch self {
    case .vcrpy, .vcrpyJSON: .vcrpy
    case .mitmproxy, .chrome, .firefox: .har
    case .vcr: .vcr
    case .vinyl: .vinyl
    case .dvr: .dvr
    }
  }

  func bytes() throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return [UInt8](try Data(contentsOf: folder.appendingPathComponent("Fixtures/\(rawValue)")))
  }

  func read() throws -> ForeignCassette {
    try ForeignCassette.read(bytes(), name: rawValue)
  }
}

extension RecordedBody {
  /// The bytes as text; nil for a body in a file.
  var text: String? {
    guard case .bytes(let bytes) = self else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension ForeignCassette {
  /// The messages about what was lost.
  var lines: [String] { losses.map { $0.line(("entry", "entries")) } }
}
