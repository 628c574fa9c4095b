import Foundation
import HTTPMessages

/// Replay of large texts full of URLs, compared with nginx, which sends the same files unchanged.
enum LargeBench {
  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    say(machine())
    say("medians of \(settings.rounds) alternating rounds of \(settings.seconds) s; CPU is the server's own")
    let texts = try LargeTexts(in: scratch)
    let nginx = try Server.nginx("large", in: scratch, http: "sendfile on;", location: "root \(texts.folder.path);")
    defer { nginx.stop() }
    let diorama = try Server.diorama(
      settings.diorama, mode: "replay", cassette: texts.cassette, upstream: LargeTexts.origin.description,
      words: scratch.file("large.words"))
    defer { diorama.stop() }
    try texts.check(diorama)
    let verdicts = Verdicts()
    for size in LargeTexts.sizes {
      let medians = try Contest(
        title: "replay of JSON full of URLs, \(size / 1000) KB",
        script: try Load.writeScript(
          "large-\(size)", count: 1, request: #"wrk.format("GET", "/\#(size)")"#, in: scratch),
        contestants: [.init(name: "nginx file", server: nginx), .init(name: "diorama", server: diorama)]
      ).measure(settings, connections: 8)
      verdicts.atMost(
        4, "\(size / 1000) KB of JSON full of URLs: CPU beside nginx", medians, "diorama", "nginx file", \.processor)
    }
    return verdicts.hold()
  }
}
