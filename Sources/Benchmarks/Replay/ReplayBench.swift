import Foundation

/// Replay beside nginx's `return 200`.
enum ReplayBench {
  /// Measures and prints; false when a limit that was asked for does not hold.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    say(machine())
    let nginx = try Server.nginx(in: scratch)
    defer { nginx.stop() }
    var pairs: [Pair] = []
    defer { for pair in pairs { pair.diorama.stop() } }
    for size in settings.sizes {
      let cassette = try writeCassette(of: size, in: scratch)
      let diorama = try Server.diorama(settings.diorama, replaying: cassette)
      let script = try Load.writeScript(cyclingThrough: size, in: scratch)
      pairs.append(Pair(size: size, diorama: diorama, nginx: nginx, script: script))
    }

    let seconds = settings.seconds
    say("\nmedians of alternating rounds of \(seconds) s; CPU is the server's own, user and system\n")
    say(Row.heading)
    var results: [Result] = []
    for (connections, rounds) in [(1, min(settings.rounds, 3)), (32, settings.rounds)] {
      let measured = try measure(pairs, connections: connections, rounds: rounds, seconds: seconds)
      for result in measured { say(Row(result)) }
      results += measured
    }

    // The first million of requests is what anonymous memory is judged by.
    if settings.check {
      for pair in pairs {
        while pair.diorama.answered < 1_000_000 { _ = try pair.load(\.diorama, connections: 32, seconds: seconds) }
      }
    }
    say("")
    for pair in pairs {
      let megabytes = String(format: "%.1f", try pair.diorama.anonymousMegabytes())
      say("anonymous memory, \(pair.size) interactions, after \(pair.diorama.answered) requests: \(megabytes) MB")
    }
    guard settings.check else { return true }
    return try Limits(results: results, pairs: pairs).hold()
  }

  /// Rounds in turn: nginx, Diorama, nginx, Diorama, one size after the other.
  private static func measure(_ pairs: [Pair], connections: Int, rounds: Int, seconds: Int) throws -> [Result] {
    var samples = pairs.map { _ in (nginx: [Sample](), diorama: [Sample]()) }
    for _ in 0..<rounds {
      for (index, pair) in pairs.enumerated() {
        samples[index].nginx.append(try pair.load(\.nginx, connections: connections, seconds: seconds))
        samples[index].diorama.append(try pair.load(\.diorama, connections: connections, seconds: seconds))
      }
    }
    return zip(pairs, samples).map { pair, samples in
      Result(
        size: pair.size, connections: connections,
        nginx: Sample.median(of: samples.nginx), diorama: Sample.median(of: samples.diorama))
    }
  }
}

/// A server under test beside its peer, under the same load.
struct Pair {
  /// Interactions in the cassette.
  let size: Int
  let diorama: Server
  let nginx: Server
  /// The wrk script that cycles through the cassette's URLs.
  let script: URL

  /// One round against one of the two.
  func load(_ which: KeyPath<Pair, Server>, connections: Int, seconds: Int) throws -> Sample {
    try Load(script: script, connections: connections, seconds: seconds).run(against: self[keyPath: which])
  }
}
