import Cassettes

/// HARs of browsers, proxies and test tools. They replay as they are; an import makes a cassette of ours of them, with
/// upstreams that have names, and says what it leaves out.
enum HARImport {
  static func read(_ bytes: [UInt8], name: String) throws(CassetteError) -> ForeignCassette {
    var noted = HARLosses()
    let cassette = try HAR.read(bytes, name: name, noting: &noted)
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
