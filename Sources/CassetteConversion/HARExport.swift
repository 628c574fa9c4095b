import Basics
package import Cassettes
import HTTPMessages
import LaunchContract

/// Exports a cassette as a HAR for other tools: one file, including bodies, strictly HAR 1.2.
///
/// Data that only Diorama's own fields can hold is left out and reported.
package enum HARExport {
  /// Lists what the export leaves out of the header and the string store.
  ///
  /// - Parameters:
  ///   - header: The header of the cassette.
  ///   - strings: The number of values in its string store.
  /// - Returns: The losses.
  package static func losses(of header: CassetteHeader, strings: Int) -> [Loss] {
    var losses = Losses()
    losses.header(header, strings: strings, of: "HAR")
    if !header.upstreams.isEmpty {
      losses.add(
        "the names of the upstreams (\(header.upstreams.map(\.name).joined(separator: ", "))) have no place in HAR")
    }
    return losses.all
  }

  /// Writes the file.
  ///
  /// - Parameter interactions: The interactions, with all bodies in memory.
  /// - Returns: The file, and what it leaves out of these interactions, by their indices.
  package static func write(_ interactions: [Interaction]) -> (file: [UInt8], losses: [Loss]) {
    var losses = Losses()
    var file = Array("{\n  \"log\": {\n    \"version\": \"1.2\",\n    \"creator\": ".utf8)
    HAR.creator.encode(into: &file, style: .pretty, level: 2)
    file += Array(",\n    \"pages\": [],\n    \"entries\": [\n".utf8)
    for (index, interaction) in interactions.enumerated() {
      var interaction = interaction
      interaction.upstream = nil
      note(interaction, at: index, &losses)
      file += HAR.entry(
        interaction, isFirst: index == 0,
        hasBinaryBody: isAmbiguous(interaction.response.body, interaction.response.headers))
    }
    file += HAR.epilogue()
    return (file, losses.all)
  }

  private static func note(_ interaction: Interaction, at index: Int, _ losses: inout Losses) {
    if interaction.response.isBodyAsSent {
      losses.add(
        "its body could not be decoded: it is as it was on the wire, which only a field of ours says", at: index)
    }
    losses.stream(interaction.response, at: index)
    if case .bytes(let bytes) = interaction.request.body, !HAR.isText(bytes) {
      losses.add("its request's body is no text: it is in Base64, which only a field of ours says", at: index)
    } else if isAmbiguous(interaction.request.body, interaction.request.headers) {
      losses.add(
        "its request's body is not in the charset that it names: readers may take it for other bytes", at: index)
    }
  }

  /// Whether other tools, which decode text by its charset, would misread the UTF-8 of this body.
  private static func isAmbiguous(_ body: RecordedBody, _ headers: Headers) -> Bool {
    guard case .bytes(let bytes) = body, HAR.EntryDecoder.namesLatin1(headers["Content-Type"] ?? "") else {
      return false
    }
    return bytes.contains { $0 >= 0x80 }
  }
}

extension Losses {
  /// Notes the timing of a stream's parts, and that a stream was cut off.
  mutating func stream(_ response: RecordedResponse, at index: Int) {
    if !response.parts.isEmpty { add("its body came in parts: when they came only a field of ours says", at: index) }
    if response.end != .whole { add("its body was cut off, which only a field of ours says", at: index) }
  }

  /// Notes the parts of a cassette's header and string store that another format cannot hold.
  mutating func header(_ header: CassetteHeader, strings: Int, of format: String) {
    for (what, value) in [("time zone", header.timeZone), ("locale", header.locale), ("seed", header.seed)] {
      if let value { add("the \(what) (\(value)) has no place in \(format)") }
    }
    if strings > 0 {
      add("\(strings == 1 ? "1 recorded string has" : "\(strings) recorded strings have") no place in \(format)")
    }
  }
}
