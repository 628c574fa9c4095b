import LaunchContract

extension HAR {
  /// `response.content._diorama`; nil where there is nothing to say.
  static func contentNotes(_ response: RecordedResponse) -> JSON? {
    var members: [JSON.Member] = []
    if response.isBodyAsSent { members.append(.init("asSent", .bool(true))) }
    if !response.parts.isEmpty {
      members.append(
        .init(
          "parts",
          .array(response.parts.map { .array([.number("\($0.milliseconds)"), .number("\($0.count)")]) })))
    }
    if response.end != .whole { members.append(.init("cut", .bool(true))) }
    if response.end == .open { members.append(.init("open", .bool(true))) }
    return members.isEmpty ? nil : .object(members)
  }
}

extension HAR.EntryDecoder {
  /// When the parts of a body came: pairs of milliseconds and bytes.
  func parts(_ content: JSONIndex.Value?) throws(CassetteError) -> [BodyPart] {
    guard let value = content?["_diorama"]?["parts"], !value.isNull else { return [] }
    guard let pairs = value.array else { throw failure("response.content._diorama.parts is no array") }
    var parts: [BodyPart] = []
    parts.reserveCapacity(pairs.count)
    for pair in pairs {
      guard var numbers = pair.array, numbers.count == 2, let time = numbers.next()?.int,
        let count = numbers.next()?.int,
        count > 0, time >= parts.last?.milliseconds ?? 0, time < 1 << 40
      else {
        throw failure(
          "response.content._diorama.parts[\(parts.count)] is no pair of milliseconds, which never go back, and bytes")
      }
      parts.append(BodyPart(milliseconds: time, count: count))
    }
    return parts
  }

  /// How a body came to its end.
  func end(_ content: JSONIndex.Value?) -> BodyEnd {
    guard let notes = content?["_diorama"], notes["cut"]?.bool == true else { return .whole }
    return notes["open"]?.bool == true ? .open : .cut
  }
}
