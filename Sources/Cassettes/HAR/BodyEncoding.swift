import LaunchContract

extension HAR {
  /// What browsers write where a message says nothing of its type; `mimeType` is not optional.
  static let unknownType = "x-unknown"

  /// `response.content`.
  static func content(_ body: RecordedBody, mimeType: String?, notes: JSON? = nil) -> JSON {
    var members: [JSON.Member] = [
      .init("size", .number("\(body.length)")), .init("mimeType", .string(mimeType ?? unknownType)),
    ]
    switch body {
    case .file(let name, _): members.append(.init("_file", .string(name)))
    case .bytes(let bytes) where bytes.isEmpty: break
    case .bytes(let bytes):
      if let text = readableText(bytes) {
        members.append(.init("text", .string(text)))
      } else {
        members += [.init("text", .string(Base64.encode(bytes))), .init("encoding", .string("base64"))]
      }
    }
    if let notes { members.append(.init("_diorama", notes)) }
    return .object(members)
  }

  /// `request.postData`; nil where there is no body.
  ///
  /// HAR has no encoding here, so a binary one is marked by a field of ours. Its `params` and `text` exclude each
  /// other: only the text has the bytes as they were sent.
  static func postData(_ body: RecordedBody, mimeType: String?) -> JSON? {
    guard body.length > 0 else { return nil }
    var members: [JSON.Member] = [.init("mimeType", .string(mimeType ?? unknownType))]
    switch body {
    case .file(let name, let length):
      members += [
        .init("text", .string("")), .init("_file", .string(name)),
        .init("_diorama", .object([.init("length", .number("\(length)"))])),
      ]
    case .bytes(let bytes):
      if let text = readableText(bytes) {
        members.append(.init("text", .string(text)))
      } else {
        members += [
          .init("text", .string(Base64.encode(bytes))),
          .init("_diorama", .object([.init("encoding", .string("base64"))])),
        ]
      }
    }
    return .object(members)
  }

  /// The bytes as text where that is what they are: UTF-8 without control characters, but for white space.
  ///
  /// It comes back to the byte; anything else would not be readable anyway.
  private static func readableText(_ bytes: [UInt8]) -> String? {
    let isControl = { (byte: UInt8) in
      (byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0C && byte != 0x0D) || byte == 0x7F
    }
    guard !bytes.contains(where: isControl) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
