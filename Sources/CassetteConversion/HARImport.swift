import Basics
import Cassettes

/// Imports HAR files of browsers, proxies and test tools. They can be replayed directly; an import converts them to a
/// Diorama cassette with named upstreams and reports what is left out.
enum HARImport {
  static func read(
    _ bytes: [UInt8], name: String, isDone: @escaping @Sendable (Range<Int>) -> Void
  ) throws(CodedError) -> ForeignCassette {
    var noted = HARLosses()
    let cassette = try HAR.read(bytes, name: name, noting: &noted, isDone: isDone)
    let interactions = cassette.interactions.compactMap { interaction -> Interaction? in
      guard RecordedURL(interaction.request.url).origin != nil else { return nil }
      var interaction = interaction
      interaction.request.url = interaction.request.url.withoutUserInformation
      return interaction
    }
    return ForeignCassette(
      format: .har, header: cassette.header, interactions: interactions, losses: noted.losses.all)
  }
}
