import Foundation

/// Replay beside nginx's `return 200`.
enum ReplayBench {
  /// Measures and prints; false if a requested limit is missed.
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

    // Anonymous memory is measured after the first million requests.
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

  /// Alternating rounds of nginx and Diorama for each size.
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

/// The server under test and its peer, under the same load.
struct Pair {
  /// The number of interactions in the cassette.
  let size: Int
  let diorama: Server
  let nginx: Server
  /// The wrk script that cycles through the cassette's URLs.
  let script: URL

  /// A round with one of the two.
  func load(_ which: KeyPath<Pair, Server>, connections: Int, seconds: Int) throws -> Sample {
    try Load(script: script, connections: connections, seconds: seconds).run(against: self[keyPath: which])
  }
}

/// The medians for a size and a number of connections.
struct Result {
  let size: Int
  let connections: Int
  let nginx: Sample
  let diorama: Sample

  /// Diorama's rate relative to nginx's; above 1 is faster.
  var rateRatio: Double { diorama.rate / nginx.rate }
  /// Diorama's CPU time per request relative to nginx's; below 1 is cheaper.
  var processorRatio: Double { diorama.processor / nginx.processor }
}

/// A line of the table.
struct Row: CustomStringConvertible {
  static let heading = line([
    "connections", "interactions", "", "requests/s", "p50 µs", "p99 µs", "CPU µs/request", "rate", "CPU",
  ])
  let description: String

  init(_ result: Result) {
    func figures(_ sample: Sample) -> [String] {
      [
        String(format: "%.0f", sample.rate), String(format: "%.0f", sample.median),
        String(format: "%.0f", sample.slowest), String(format: "%.2f", sample.processor),
      ]
    }
    let ratios = [String(format: "%.2f", result.rateRatio), String(format: "%.2f", result.processorRatio)]
    description = [
      Row.line(["\(result.connections)", "\(result.size)", "nginx"] + figures(result.nginx) + ["", ""]),
      Row.line(["", "", "diorama"] + figures(result.diorama) + ratios),
    ].joined(separator: "\n")
  }

  private static func line(_ columns: [String]) -> String {
    zip(columns, [11, 12, 8, 10, 7, 8, 14, 6, 6]).map { text, width in
      String(repeating: " ", count: max(0, width - text.count)) + text
    }.joined(separator: "  ")
  }
}

/// The limits for a release.
struct Limits {
  let results: [Result]
  let pairs: [Pair]

  /// Prints each limit with its figure; false if one is missed.
  func hold() throws -> Bool {
    var all = true
    func limit(_ kept: Bool, _ text: String) {
      say((kept ? "kept    " : "BROKEN  ") + text)
      all = all && kept
    }
    say("")
    let loaded = results.filter { $0.connections == 32 }
    for result in loaded {
      limit(
        result.rateRatio >= 0.8 || result.processorRatio <= 1.5,
        String(
          format: "%d interactions: rate %.2f of nginx's (at least 0.8), or CPU %.2f times (at most 1.5)",
          result.size, result.rateRatio, result.processorRatio))
    }
    if let small = loaded.first(where: { $0.size == 10 }), let large = loaded.first(where: { $0.size == 100_000 }) {
      let ratio = large.diorama.processor / small.diorama.processor
      limit(ratio <= 1.15, String(format: "100,000 interactions: CPU %.2f times that of ten (at most 1.15)", ratio))
    } else {
      limit(false, "100,000 interactions beside ten: not measured, BENCH_SIZES leaves one of them out")
    }
    if let small = pairs.first(where: { $0.size == 10 }) {
      let megabytes = try small.diorama.anonymousMegabytes()
      limit(
        megabytes < 16 && small.diorama.answered >= 1_000_000,
        String(format: "ten interactions: %.1f MB after a million requests (below 16)", megabytes))
    }
    return all
  }
}

/// The body that both servers send.
let answer = #"{"id":"33b5dc9e","name":"Dr Pixel","slots":["2018-10-08T09:00:00Z","2018-10-08T09:15:00Z"],"free":true}"#

/// The path of an interaction.
func path(_ index: Int) -> String {
  "/v1/clinicians/\(index)/slots?day=2018-10-08"
}

/// Writes a HAR without extensions of Diorama, and returns its path without extension.
func writeCassette(
  of size: Int, from origin: String = "http://127.0.0.1:9", named name: String? = nil, in scratch: Scratch
) throws -> URL {
  let quoted = String(decoding: try JSONEncoder().encode(answer), as: UTF8.self)
  var text = #"{"log":{"version":"1.2","creator":{"name":"bench","version":"1"},"entries":["#
  for index in 0..<size {
    let url = origin + path(index)
    text += index == 0 ? "\n" : ",\n"
    text += """
      {"startedDateTime":"2018-10-08T09:00:00.000Z","time":1,"request":{"method":"GET","url":"\(url)",\
      "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[{"name":"day","value":"2018-10-08"}],\
      "headersSize":-1,"bodySize":0},"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1",\
      "cookies":[],"headers":[{"name":"Server","value":"nginx"},\
      {"name":"Date","value":"Mon, 08 Oct 2018 09:00:00 GMT"},{"name":"Content-Type","value":"application/json"},\
      {"name":"Content-Length","value":"\(answer.utf8.count)"}],"content":{"size":\(answer.utf8.count),\
      "mimeType":"application/json","text":\(quoted)},"redirectURL":"","headersSize":-1,\
      "bodySize":\(answer.utf8.count)},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}
      """
  }
  text += "\n]}}\n"
  let base = scratch.file(name ?? "cassette-\(size)")
  try Data(text.utf8).write(to: base.appendingPathExtension("har"))
  return base
}
