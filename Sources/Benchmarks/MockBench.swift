import Basics
import Foundation

/// Stubs beside WireMock and the replay of a recording, in one run.
struct MockBench {
  private let settings: Settings
  private let scratch: Scratch
  private let verdicts = Verdicts()

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    say(machine())
    say("medians of \(settings.rounds) alternating rounds of \(settings.seconds) s; CPU is the server's own")
    let bench = MockBench(settings: settings, scratch: scratch)
    try bench.plain()
    try bench.orders()
    try bench.start()
    return bench.verdicts.hold()
  }

  /// One stub for one URL.
  private func plain() throws {
    let folder = try Orders.writeMappings([["method": "GET", "url": path(0)]], named: "plain", in: scratch)
    let mock = try Peer.mock(settings.diorama, folder)
    defer { mock.stop() }
    let replay = try Server.diorama(settings.diorama, replaying: try writeCassette(of: 1, in: scratch))
    defer { replay.stop() }
    let wireMock = try Peer.wireMock(folder)
    defer { wireMock.stop() }
    let medians = try Contest(
      title: "one plain stub", script: try Load.writeScript(cyclingThrough: 1, in: scratch),
      contestants: [
        .init(name: "diorama", server: mock), .init(name: "diorama's replay", server: replay),
        .init(name: "WireMock", server: wireMock),
      ]
    ).measure(settings)
    verdicts.atLeast(3, "rate beside WireMock, one plain stub", medians, "diorama", "WireMock", \.rate)
    verdicts.atLeast(0.8, "rate beside the replay of a recording", medians, "diorama", "diorama's replay", \.rate)
    let ratio = try mock.anonymousMegabytes() / wireMock.anonymousMegabytes()
    verdicts.add(ratio <= 0.1, String(format: "memory: %.3f of WireMock's (at most 0.1)", ratio))
  }

  /// One stub of a thousand, by JSON.
  private func orders() throws {
    let folder = try Orders.mappings(in: scratch)
    let mock = try Peer.mock(settings.diorama, folder)
    defer { mock.stop() }
    let wireMock = try Peer.wireMock(folder)
    defer { wireMock.stop() }
    let medians = try Contest(
      title: "one stub of \(Orders.count) by its JSON",
      script: try Load.writeScript("orders", count: Orders.count, request: Orders.request, in: scratch),
      contestants: [.init(name: "diorama", server: mock), .init(name: "WireMock", server: wireMock)]
    ).measure(settings)
    verdicts.atLeast(4, "rate beside WireMock, one stub of a thousand", medians, "diorama", "WireMock", \.rate)
  }

  /// From the start of the program to its first answer.
  private func start() throws {
    let folder = try Orders.writeMappings([["method": "GET", "url": path(0)]], named: "start", in: scratch)
    func milliseconds(_ make: () throws -> Server) throws -> Double {
      let start = ContinuousClock.now
      let server = try make()
      defer { server.stop() }
      guard let port = UInt16(server.origin.split(separator: ":").last ?? "") else { return .nan }
      _ = try PlainConnection(port: port).exchange("GET \(path(0)) HTTP/1.1")
      return (ContinuousClock.now - start) / .milliseconds(1)
    }
    var times: (ours: [Double], theirs: [Double]) = ([], [])
    for _ in 0..<max(3, settings.rounds) {
      times.ours.append(try milliseconds { try Peer.mock(settings.diorama, folder) })
      times.theirs.append(try milliseconds { try Peer.wireMock(folder) })
    }
    let (ours, theirs) = (times.ours.sorted()[times.ours.count / 2], times.theirs.sorted()[times.theirs.count / 2])
    say(String(format: "\nfrom the start to the first answer: diorama %.0f ms, WireMock %.0f ms", ours, theirs))
    verdicts.add(
      ours <= theirs / 20,
      String(format: "start to first answer: %.3f of WireMock's (at most 0.05)", ours / theirs))
  }
}
