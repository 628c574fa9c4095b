import Basics
import Foundation

/// Replay, proxying and recording beside nginx, WireMock and mitmproxy, in one run.
struct TrafficBench {
  private let settings: Settings
  private let scratch: Scratch
  private let verdicts = Verdicts()

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    say(machine())
    say("medians of \(settings.rounds) alternating rounds of \(settings.seconds) s; CPU is the server's own")
    let bench = TrafficBench(settings: settings, scratch: scratch)
    try bench.replay()
    try bench.orders()
    try bench.bodies()
    try bench.forwarding()
    return bench.verdicts.hold()
  }

  /// A single response.
  private func replay() throws {
    let nginx = try Server.nginx(in: scratch)
    defer { nginx.stop() }
    let diorama = try Server.diorama(settings.diorama, replaying: try writeCassette(of: 1, in: scratch))
    defer { diorama.stop() }
    let stub = try Orders.writeMappings([["method": "GET", "url": path(0)]], named: "wiremock-plain", in: scratch)
    let wireMock = try Peer.wireMock(stub)
    defer { wireMock.stop() }
    let flows = scratch.file("flows").path
    let words = scratch.file("mitmproxy.log")
    let recorder = try Peer.mitmproxy(before: nginx.origin, ["--save-stream-file", flows], words: words)
    _ = try PlainConnection(port: recorder.port).exchange("GET \(path(0)) HTTP/1.1")
    recorder.stop()
    let mitmproxy = try Peer.mitmproxy(
      before: nginx.origin,
      ["--server-replay", flows, "--set", "server_replay_reuse=true", "--set", "server_replay_extra=kill"], words: words
    )
    defer { mitmproxy.stop() }
    let medians = try Contest(
      title: "replay of one plain response", script: try Load.writeScript(cyclingThrough: 1, in: scratch),
      contestants: [
        .init(name: "nginx return", server: nginx), .init(name: "diorama", server: diorama),
        .init(name: "WireMock", server: wireMock), .init(name: "mitmproxy", server: mitmproxy),
      ]
    ).measure(settings)
    verdicts.atMost(1.3, "CPU a request beside nginx", medians, "diorama", "nginx return", \.processor)
    verdicts.atLeast(1.8, "rate beside WireMock, one plain stub", medians, "diorama", "WireMock", \.rate)
    verdicts.atLeast(40, "rate beside mitmproxy", medians, "diorama", "mitmproxy", \.rate)
  }

  /// One of a thousand responses, by JSON.
  private func orders() throws {
    let diorama = try Server.diorama(settings.diorama, replaying: try Orders.cassette(in: scratch))
    defer { diorama.stop() }
    let wireMock = try Peer.wireMock(try Orders.mappings(in: scratch))
    defer { wireMock.stop() }
    let medians = try Contest(
      title: "replay of one of \(Orders.count) by its JSON",
      script: try Load.writeScript("orders", count: Orders.count, request: Orders.request, in: scratch),
      contestants: [.init(name: "diorama", server: diorama), .init(name: "WireMock", server: wireMock)]
    ).measure(settings)
    verdicts.atLeast(2, "rate beside WireMock, JSON among a thousand", medians, "diorama", "WireMock", \.rate)
  }

  /// Bodies of several sizes.
  private func bodies() throws {
    let bodies = try SizedBodies(in: scratch)
    let nginx = try Server.nginx("sized", in: scratch, http: "sendfile on;", location: "root \(bodies.folder.path);")
    defer { nginx.stop() }
    let diorama = try Server.diorama(settings.diorama, replaying: bodies.cassette)
    defer { diorama.stop() }
    for size in SizedBodies.sizes {
      _ = try Contest(
        title: "replay of \(size / 1024) KiB",
        script: try Load.writeScript(
          "sized-\(size)", count: 1, request: #"wrk.format("GET", "/\#(size)")"#, in: scratch),
        contestants: [.init(name: "nginx file", server: nginx), .init(name: "diorama", server: diorama)]
      ).measure(settings)
    }
  }

  /// With a live backend: proxied, and recorded.
  private func forwarding() throws {
    let backend = try Server.nginx("backend", in: scratch, location: "return 200 '\(answer)';")
    defer { backend.stop() }
    let address = backend.origin.dropFirst("http://".count)
    let nginx = try Server.nginx(
      "forward", in: scratch, http: "upstream backend { server \(address); keepalive 64; }",
      location: #"proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://backend;"#)
    defer { nginx.stop() }
    let proxy = try Server.diorama(
      settings.diorama, mode: "proxy", cassette: nil, upstream: backend.origin, words: scratch.file("proxy.words"))
    defer { proxy.stop() }
    let script = try Load.writeScript(cyclingThrough: 1, in: scratch)
    let medians = try Contest(
      title: "proxy", script: script,
      contestants: [.init(name: "nginx proxy_pass", server: nginx), .init(name: "diorama", server: proxy)]
    ).measure(settings)
    verdicts.atLeast(0.5, "proxy's rate beside nginx proxy_pass", medians, "diorama", "nginx proxy_pass", \.rate)

    let recorder = try Server.diorama(
      settings.diorama, mode: "record", cassette: scratch.file("recorded"), upstream: backend.origin,
      words: scratch.file("record.words"))
    defer { recorder.stop() }
    let mitmproxy = try Peer.mitmproxy(
      before: backend.origin, ["--save-stream-file", scratch.file("recorded.flows").path],
      words: scratch.file("recorder.log"))
    defer { mitmproxy.stop() }
    _ = try Contest(
      title: "recording", script: script,
      contestants: [.init(name: "diorama", server: recorder), .init(name: "mitmproxy", server: mitmproxy)]
    ).measure(settings)

    try latency(backend: backend, nginx: nginx, proxy: proxy)
  }

  /// The delay added by a proxy below its limit.
  private func latency(backend: Server, nginx: Server, proxy: Server) throws {
    let load = PacedLoad(rate: 2_000, seconds: settings.seconds, path: path(0))
    var added: (nginx: [Double], proxy: [Double]) = ([], [])
    for round in 0...settings.rounds {
      let direct = try load.slowest(of: backend)
      let theirs = try load.slowest(of: nginx) - direct
      let ours = try load.slowest(of: proxy) - direct
      guard round > 0 else { continue }
      added.nginx.append(theirs)
      added.proxy.append(ours)
    }
    let theirs = added.nginx.sorted()[added.nginx.count / 2]
    let ours = added.proxy.sorted()[added.proxy.count / 2]
    say(String(format: "\nat 2,000 requests/s, added at p99: nginx %.3f ms, diorama %.3f ms", theirs, ours))
    verdicts.add(ours < 1, String(format: "proxy adds %.3f ms at p99, at 2,000 requests/s (below 1)", ours))
  }
}

/// Several servers under the same load, in alternating rounds.
struct Contest {
  /// A server.
  struct Contestant {
    let name: String
    let server: Server
  }

  let title: String
  let script: URL
  let contestants: [Contestant]

  /// Measures and prints a table.
  ///
  /// - Returns: the medians, by name.
  func measure(_ settings: Settings, connections: Int = 32) throws -> [String: Sample] {
    // Beside faster servers, a peer may get no processor time for a whole second.
    let load = Load(script: script, connections: connections, seconds: max(settings.seconds, 2))
    var samples: [String: [Sample]] = [:]
    for contestant in contestants { load.warm(contestant.server) }
    for _ in 0..<settings.rounds {
      for contestant in contestants {
        do { samples[contestant.name, default: []].append(try load.run(against: contestant.server)) } catch {
          throw CodedError(.inputOutput, "\(title), \(contestant.name): \(error)")
        }
      }
    }
    let medians = samples.mapValues(Sample.median(of:))
    say("\n\(title), \(connections) connections")
    say("                       requests/s    p50 µs    p99 µs  CPU µs/request   memory MB  diorama's rate  CPU")
    for contestant in contestants {
      guard let sample = medians[contestant.name], let ours = medians["diorama"] else { continue }
      let name = contestant.name.padding(toLength: 20, withPad: " ", startingAt: 0)
      say(
        name
          + String(
            format: "%13.0f %9.0f %9.0f %15.2f %11.1f %14.2f× %4.2f×", sample.rate, sample.median, sample.slowest,
            sample.processor, try contestant.server.anonymousMegabytes(), ours.rate / sample.rate,
            ours.processor / sample.processor))
    }
    return medians
  }
}

/// Limits and their figures.
final class Verdicts {
  private var all: [(kept: Bool, text: String)] = []

  func add(_ kept: Bool, _ text: String) { all.append((kept, text)) }

  /// Requires one figure to be at least a multiple of another.
  func atLeast(
    _ limit: Double, _ what: String, _ medians: [String: Sample], _ ours: String, _ theirs: String,
    _ figure: KeyPath<Sample, Double>
  ) {
    let ratio = (medians[ours]?[keyPath: figure] ?? .nan) / (medians[theirs]?[keyPath: figure] ?? .nan)
    add(ratio >= limit, String(format: "%@: %.2f times (at least %.1f)", what, ratio, limit))
  }

  /// Requires one figure to be at most a multiple of another.
  func atMost(
    _ limit: Double, _ what: String, _ medians: [String: Sample], _ ours: String, _ theirs: String,
    _ figure: KeyPath<Sample, Double>
  ) {
    let ratio = (medians[ours]?[keyPath: figure] ?? .nan) / (medians[theirs]?[keyPath: figure] ?? .nan)
    add(ratio <= limit, String(format: "%@: %.2f times (at most %.1f)", what, ratio, limit))
  }

  /// Prints each limit; false if one is missed.
  func hold() -> Bool {
    say("")
    for verdict in all { say((verdict.kept ? "kept    " : "BROKEN  ") + verdict.text) }
    return all.allSatisfy(\.kept)
  }
}
