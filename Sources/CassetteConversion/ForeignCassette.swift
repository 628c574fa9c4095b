package import Basics
package import Cassettes
import LaunchContract

/// The formats of other tools that can be imported.
package enum ImportFormat: String, Sendable, CaseIterable {
  /// HAR 1.2 of browsers, mitmproxy, Playwright and others.
  case har
  /// Vinyl (JSON).
  case vinyl
  /// DVR (JSON).
  case dvr
  /// VCR for Ruby (YAML or JSON).
  case vcr
  /// vcrpy (YAML or JSON), also as versions before 1.0 wrote it.
  case vcrpy
  /// go-vcr (YAML).
  case goVCR = "go-vcr"

  /// The name of the tool in its own spelling.
  package var title: String {
    switch self {
    case .har: "HAR"
    case .vinyl: "Vinyl"
    case .dvr: "DVR"
    case .vcr: "VCR"
    case .vcrpy: "vcrpy"
    case .goVCR: "go-vcr"
    }
  }
}

/// The content of another tool's file, as far as it can be imported.
///
/// ```swift
/// let foreign = try ForeignCassette.read(bytes, name: "api.yaml")
/// let cassette = Cassette(importing: [foreign], upstreams: [], recordedAt: nil, otherwise: now)
/// ```
package struct ForeignCassette: Sendable {
  /// The format that the file was read in.
  package var format: ImportFormat
  /// The header of the cassette; empty unless the file is a HAR written by Diorama.
  package var header: CassetteHeader
  /// The interactions in playback order. Their bodies may still be separate files next to a HAR.
  package var interactions: [Interaction]
  /// The parts of the file that cannot be imported.
  package var losses: [Loss]
}

extension ForeignCassette {
  /// Reads one file.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - name: The file name for errors.
  ///   - format: The format; nil to detect it by content.
  ///   - isDone: Called now and then, on several threads, with a range of bytes that has been read.
  /// - Returns: The content of the file.
  /// - Throws: ``CodedError`` with the line and column, or the entry, that cannot be read.
  package static func read(
    _ bytes: [UInt8], name: String, as format: ImportFormat? = nil,
    isDone: @escaping @Sendable (Range<Int>) -> Void = { _ in }
  ) throws(CodedError) -> ForeignCassette {
    let format = if let format { format } else { try guess(bytes, name: name) }
    switch format {
    case .har: return try HARImport.read(bytes, name: name, isDone: isDone)
    case .vinyl, .dvr:
      var file = VinylImport(format: format, name: name)
      return try file.read(json(withoutTrailingCommas(bytes), name: name))
    case .vcr, .vcrpy, .goVCR:
      let value = try yaml(bytes, name: name)
      var file = VCRImport(format: format == .vcrpy && VCRImport.isGoVCR(value) ? .goVCR : format, name: name)
      return try file.read(value)
    }
  }

  /// Detects the format by its characteristic parts; go-vcr's files pass for vcrpy's here.
  static func guess(_ bytes: [UInt8], name: String) throws(CodedError) -> ImportFormat {
    switch JSONReader.firstByte(of: bytes) {
    case nil: throw CodedError(name: name, problem: "the file is empty", advice: "name another file")
    case UInt8(ascii: "["):
      // Only Vinyl files, and those of vcrpy before 1.0, have an array at the top level.
      let value = try json(withoutTrailingCommas(bytes), name: name)
      if value.array?.first?["request"]?["protocol"] != nil { return .vcrpy }
      let known = value.array?.isEmpty == true || value.array?.contains { $0["response"] != nil } == true
      if known, value.array?.contains(where: { $0["scope"] != nil }) != true { return .vinyl }
      throw unknown(bytes, value, name: name)
    case UInt8(ascii: "{"): return try guess(object: withoutTrailingCommas(bytes), name: name)
    default:
      for line in bytes.split(separator: 0x0A).prefix(1000) {
        if line.starts(with: "http_interactions:".utf8) { return .vcr }
        if line.starts(with: "interactions:".utf8) || line.starts(with: "- request: ".utf8) { return .vcrpy }
      }
      // The key may also come later or be written in another way, such as in quotation marks.
      if bytes.count > 1000, let root = try? YAMLReader.parse(bytes, name: name) {
        if root["http_interactions"] != nil { return .vcr }
        if root["interactions"] != nil { return .vcrpy }
      }
      throw unknown(bytes, nil, name: name)
    }
  }

  private static func guess(object bytes: [UInt8], name: String) throws(CodedError) -> ImportFormat {
    // A HAR begins with `log`, and may be too large to parse twice.
    if JSONReader.firstKey(of: bytes) == "log" { return .har }
    let value = try json(bytes, name: name)
    if value["log"] != nil { return .har }
    if value["http_interactions"] != nil { return .vcr }
    if value["interactions"] != nil { return value["version"] != nil && value["name"] == nil ? .vcrpy : .dvr }
    throw unknown(bytes, value, name: name)
  }

  private static func unknown(_ bytes: [UInt8], _ value: JSON?, name: String) -> CodedError {
    let formats = ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")
    let familiar = bytes.withUnsafeBytes { ForeignFormat(value: value, bytes: $0) }
    if JSONReader.isFlowFile(bytes) {
      return CodedError(
        name: name, problem: "it is a flow file of mitmproxy",
        advice: "make a HAR of it: mitmdump --no-server --rfile FILE --set hardump=FILE.har")
    }
    let looks = familiar.map { "; it looks like \($0.rawValue)" } ?? ""
    let advice = familiar == .archive ? "unpack it first" : "give the format with --from, or name another file"
    return CodedError(name: name, problem: "not a recording in a known format (\(formats))\(looks)", advice: advice)
  }

  private static func json(_ bytes: [UInt8], name: String) throws(CodedError) -> JSON {
    try JSON.parse(bytes, name: name, advice: CodedError.restoring)
  }

  /// Both tools can also write JSON, which is tried first.
  private static func yaml(_ bytes: [UInt8], name: String) throws(CodedError) -> YAMLNode {
    if JSONReader.firstByte(of: bytes) == UInt8(ascii: "{"), let value = try? JSON.parse(bytes) {
      return YAMLNode(value)
    }
    return try YAMLReader.parse(bytes, name: name)
  }

  /// Replaces trailing commas with spaces, which keeps lines and columns. These files are edited by hand, and the
  /// original tools accept trailing commas.
  static func withoutTrailingCommas(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    var comma: Int?
    var isString = false
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\\") where isString: index += 1
      case UInt8(ascii: "\""):
        isString.toggle()
        comma = nil
      case _ where isString: break
      case UInt8(ascii: ","): comma = index
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if let place = comma.take() { bytes[place] = 0x20 }
      case 0x20, 0x09, 0x0A, 0x0D: break
      default: comma = nil
      }
      index += 1
    }
    return bytes
  }
}

extension JSONReader {
  /// The first byte that is not white space, after an optional byte order mark.
  fileprivate static func firstByte(of bytes: [UInt8]) -> UInt8? {
    bytes.withUnsafeBytes { buffer in
      var reader = JSONReader(buffer)
      return reader.peek()
    }
  }

  /// The name of the first member of an object.
  fileprivate static func firstKey(of bytes: [UInt8]) -> String? {
    bytes.withUnsafeBytes { buffer in
      var reader = JSONReader(buffer)
      guard var progress = try? reader.beginObject() else { return nil }
      return try? reader.nextKey(&progress)
    }
  }

  /// Whether a file begins like mitmproxy's flow files: a length, a colon, and a text with its length.
  fileprivate static func isFlowFile(_ bytes: [UInt8]) -> Bool {
    let digits = bytes.prefix { $0 &- 0x30 < 10 }.count
    return 1...12 ~= digits && bytes.dropFirst(digits).first == UInt8(ascii: ":")
      && bytes.dropFirst(digits + 1).first.map { $0 &- 0x30 < 10 } == true
  }
}
