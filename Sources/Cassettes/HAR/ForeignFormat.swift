package import LaunchContract

/// What a file that is no HAR may be: people name the wrong file, or bring another tool's.
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

  /// Guesses by the outermost members, or by the first bytes; nil when nothing is familiar.
  ///
  /// - Parameters:
  ///   - value: The file, where it is JSON at all.
  ///   - bytes: The file.
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

  /// What to do with such a file.
  package var advice: String {
    switch self {
    case .stringStore: "name the .har file that stands beside it"
    case .vinyl, .dvr, .vcr, .vcrpy, .yaml: "make a cassette of it with diorama cassette import FILE --to PATH"
    case .archive: "unpack it first"
    default: "name a HAR, or record one"
    }
  }
}
