import HTTPMessages
import LaunchContract

extension HAR {
  /// `log._diorama`.
  static func encode(_ header: CassetteHeader) -> JSON {
    var members = [JSON.Member("format", .number("\(format)"))]
    let texts = [
      ("recording", header.recording), ("recordedAt", header.recordedAt), ("timeZone", header.timeZone),
      ("locale", header.locale), ("seed", header.seed),
    ]
    members += texts.compactMap { name, text in text.map { JSON.Member(name, .string($0)) } }
    members.append(
      JSON.Member(
        "upstreams", .object(header.upstreams.map { .init($0.name, .string($0.origin.description)) })))
    return .object(members)
  }

  /// The header that stands in `log._diorama`; what it does not know it ignores.
  static func decodeHeader(_ value: JSON, name: String) throws(CassetteError) -> CassetteHeader {
    try checkFormat(value["format"], name: name, member: "_diorama.format")
    var upstreams: [CassetteHeader.Upstream] = []
    for member in value["upstreams"]?.object ?? [] {
      do {
        let origin = try Origin(parsing: member.value.string ?? "")
        upstreams.append(CassetteHeader.Upstream(name: member.key, origin: origin))
      } catch {
        throw CassetteError(
          name: name, problem: "_diorama.upstreams.\(member.key): \(error)", advice: "mend it, or record anew")
      }
    }
    return CassetteHeader(
      recording: value["recording"]?.string, recordedAt: value["recordedAt"]?.string,
      timeZone: value["timeZone"]?.string, locale: value["locale"]?.string, seed: value["seed"]?.string,
      upstreams: upstreams)
  }

  /// Refuses a file of a format that only a newer program knows.
  static func checkFormat(_ value: JSON?, name: String, member: String) throws(CassetteError) {
    guard let value else { return }
    guard let found = value.int, found >= 1 else {
      throw CassetteError(
        name: name, problem: "\(member) is not a number from 1", advice: "restore the file, or record it anew")
    }
    guard found <= format else {
      throw CassetteError(
        name: name, problem: "it has format \(found), and this diorama knows formats up to \(format)",
        advice: "update diorama")
    }
  }
}
