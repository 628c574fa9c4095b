import LaunchContract

extension HAR.EntryDecoder {
  /// The body in `response.content`.
  func responseBody(_ content: JSONIndex.Value?) throws(CassetteError) -> RecordedBody {
    guard let content else { return .empty }
    let member = "response.content"
    if let file = try file(content, member) {
      return .file(name: file, length: max(0, content["size"]?.int ?? 0))
    }
    guard let text = content["text"], text.length ?? 0 > 0 else { return .empty }
    let encoding = content["encoding"]?.string ?? ""
    if content["_isBinary"]?.bool == true, encoding.isEmpty {
      return .bytes(try hexadecimal(text.string ?? "", member))
    }
    // HAR's `size` is the decoded length; mitmproxy gives the length on the wire and the difference.
    let length = (content["size"]?.int).map { $0 &+ (content["compression"]?.int ?? 0) }
    return .bytes(try bytes(text, encoding: encoding, type: content["mimeType"]?.string, length: length, member))
  }

  /// The body in `request.postData`.
  func requestBody(_ postData: JSONIndex.Value?, bodySize: Int?) throws(CassetteError) -> RecordedBody {
    guard let postData else { return .empty }
    let member = "request.postData"
    if let file = try file(postData, member) {
      return .file(name: file, length: max(0, postData["_diorama"]?["length"]?.int ?? bodySize ?? 0))
    }
    let type = postData["mimeType"]?.string
    guard let text = postData["text"], text.length ?? 0 > 0 else {
      return .bytes(rebuiltForm(postData["params"]?.array.map(Array.init) ?? [], type: type ?? ""))
    }
    // Some tools write `encoding` here too, though HAR does not know it.
    let encoding = postData["_diorama"]?["encoding"]?.string ?? postData["encoding"]?.string ?? ""
    return .bytes(try bytes(text, encoding: encoding, type: type, length: bodySize, member))
  }

  private func bytes(
    _ text: JSONIndex.Value, encoding: String, type: String?, length: Int?, _ member: String
  ) throws(CassetteError) -> [UInt8] {
    switch encoding.lowercased() {
    case "base64":
      guard let bytes = decodedChunks(text.string ?? "", HAR.Base64.decode) else {
        throw failure("\(member).text is not Base64")
      }
      return bytes
    case "", "utf-8", "utf8":
      let isDecoded =
        switch author {
        case .diorama: false
        case .mitmproxy: length != text.length && length == text.string?.unicodeScalars.count
        case .other: Self.namesLatin1(type ?? "")
        }
      return (isDecoded ? text.string.map(latin1) : text.utf8) ?? []
    default:
      throw failure("\(member).encoding is '\(encoding)', neither base64 nor absent")
    }
  }

  /// Polly.JS keeps binary bodies as hexadecimal digits.
  private func hexadecimal(_ text: String, _ member: String) throws(CassetteError) -> [UInt8] {
    let bytes = decodedChunks(text) { digits -> [UInt8]? in
      let values = digits.utf8.compactMap(\.hexValue)
      guard values.count == digits.utf8.count, values.count.isMultiple(of: 2) else { return nil }
      return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
    guard let bytes else { throw failure("\(member).text is not hexadecimal, though _isBinary is true") }
    return bytes
  }

  /// Polly.JS may keep a body as a JSON array of its encoded chunks.
  private func decodedChunks(_ text: String, _ decode: (String) -> [UInt8]?) -> [UInt8]? {
    guard text.utf8.first == UInt8(ascii: "["), let chunks = try? JSON.parse(Array(text.utf8)).array else {
      return decode(text)
    }
    var all: [UInt8] = []
    for chunk in chunks {
      guard let text = chunk.string, let bytes = decode(text) else { return nil }
      all += bytes
    }
    return all
  }

  /// Whether a type has the charset ISO 8859-1, which browsers read as windows-1252.
  package static func namesLatin1(_ type: String) -> Bool {
    let type = type.lowercased()
    // Not `firstRange(of:)`, which takes a tenth of the time in which a cassette is opened.
    let name = "charset="
    guard let mark = type.utf8.indices.first(where: { type.utf8[$0...].starts(with: name.utf8) }) else { return false }
    let charset = type[mark...].dropFirst(name.count).prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
    return ["iso-8859-1", "latin1", "windows-1252"].contains(charset)
  }

  /// The text a byte a character, as it was before a tool decoded it; UTF-8 where that cannot have been.
  private func latin1(_ text: String) -> [UInt8] {
    guard text.unicodeScalars.allSatisfy({ $0.value <= 0xFF }) else { return Array(text.utf8) }
    return text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  /// The name of a side file, which has to lie in the HAR's folder or below.
  private func file(_ body: JSONIndex.Value, _ member: String) throws(CassetteError) -> String? {
    guard let value = body["_file"], !value.isNull else { return nil }
    guard let name = value.string, !name.isEmpty else { throw failure("\(member)._file is not a file's name") }
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isInside = parts.allSatisfy { part in
      !part.isEmpty && !part.elementsEqual("..".utf8) && !part.elementsEqual(".".utf8)
        && part.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\\") }
    }
    guard isInside else { throw failure("\(member)._file leaves the cassette's folder: '\(name)'") }
    return name
  }

  /// The body of a form of which only the fields were saved.
  private func rebuiltForm(_ params: [JSONIndex.Value], type: String) -> [UInt8] {
    guard !params.isEmpty else { return [] }
    let boundary = type.utf8.firstRange(of: "boundary=".utf8).map { type[$0.upperBound...].prefix { $0 != ";" } }
    guard type.lowercased().hasPrefix("multipart/"), let boundary else {
      return HAR.FormText.encode(params.map { ($0["name"]?.string ?? "", $0["value"]?.string ?? "") })
    }
    let delimiter = "--" + boundary.filter { $0 != "\"" }
    var text = ""
    for param in params {
      text += "\(delimiter)\r\nContent-Disposition: form-data; name=\"\(param["name"]?.string ?? "")\""
      if let fileName = param["fileName"]?.string { text += "; filename=\"\(fileName)\"" }
      if let type = param["contentType"]?.string { text += "\r\nContent-Type: \(type)" }
      text += "\r\n\r\n\(param["value"]?.string ?? "")\r\n"
    }
    return Array((text + delimiter + "--\r\n").utf8)
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit; nil for anything else.
  fileprivate var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
    default: nil
    }
  }
}
