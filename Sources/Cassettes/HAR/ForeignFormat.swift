package import Basics
import LaunchContract

/// The likely format of a file that is not a HAR, such as another tool's cassette or the wrong file.
package enum ForeignFormat: String {
  case vinyl = "a Vinyl cassette"
  case dvr = "a DVR cassette"
  case vcr = "a VCR cassette"
  case vcrpy = "a vcrpy cassette"
  case nock = "a nock recording"
  case hoverfly = "a Hoverfly simulation"
  case wireMock = "WireMock mappings"
  case postman = "a Postman collection"
  case stringStore = "a string store"
  case yaml = "YAML"
  case archive = "a compressed file"

  /// Guesses from the top-level members or the first bytes; nil if the format is unknown.
  ///
  /// - Parameters:
  ///   - value: the parsed file; nil if it is not JSON.
  ///   - bytes: the file's content.
  package init?(value: JSON?, bytes: UnsafeRawBufferPointer) {
    if case .array(let elements) = value {
      guard let element = elements.first(where: { $0.object != nil }) else { return nil }
      if element["scope"] != nil, element["path"] != nil {
        self = .nock
      } else if element["response"] != nil {
        self = .vinyl
      } else {
        return nil
      }
      return
    }
    guard let value, value.object != nil else {
      let yaml = ["---", "%YAML", "http_interactions:", "interactions:", "version:"]
      let archives: [[UInt8]] = [[0x1F, 0x8B], [0x50, 0x4B, 0x03, 0x04]]
      if yaml.contains(where: { bytes.starts(with: $0.utf8) }) {
        self = .yaml
      } else if archives.contains(where: { bytes.starts(with: $0) }) {
        self = .archive
      } else {
        return nil
      }
      return
    }
    if value["algorithm"] != nil, value["seed"] != nil {
      self = .stringStore
    } else if value["http_interactions"] != nil {
      self = .vcr
    } else if value["interactions"] != nil {
      self = value["version"] != nil ? .vcrpy : .dvr
    } else if value["data"]?["pairs"] != nil {
      self = .hoverfly
    } else if value["mappings"] != nil || (value["request"] != nil && value["response"] != nil) {
      self = .wireMock
    } else if value["info"] != nil, value["item"] != nil {
      self = .postman
    } else {
      return nil
    }
  }

  /// What the user should do with this file.
  package var advice: String {
    switch self {
    case .stringStore: "pass the .har file next to it"
    case .vinyl, .dvr, .vcr, .vcrpy, .yaml: "convert it with diorama cassette import FILE --to PATH"
    case .archive: "unpack it first"
    default: "pass a HAR file, or record one"
    }
  }
}
