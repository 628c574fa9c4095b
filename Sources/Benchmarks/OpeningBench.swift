import Basics
import Cassettes
import Foundation
import HTTPMessages

/// Opening a cassette of 128 MB: the time from the start of `diorama` to its first response, beside Python's `json.load`
/// of the same file.
enum OpeningBench {
  private static let interactions = 50_000
  private static let bytes = 128_000_000

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    say(machine())
    let cassette = try LargeCassette.write(of: interactions, bytes: bytes, in: scratch)
    let file = cassette.appendingPathExtension("har").path
    let size = try Data(contentsOf: URL(fileURLWithPath: file), options: .alwaysMapped).count
    say("\na cassette of \(interactions) interactions, \(size) bytes; wall and CPU time in seconds\n")
    var ratios: [Double] = []
    var peaks: [Double] = []
    for round in 0...settings.rounds {
      let peer = try pythonLoad(file)
      let ours = try firstAnswer(settings.diorama, cassette)
      // The first round warms up the page cache.
      guard round > 0 else { continue }
      ratios.append(ours.wall / peer.wall)
      peaks.append(ours.peak)
      say(
        String(
          format: "round %d   json.load %.3f (%.3f)   diorama %.3f (%.3f)   ratio %.2f   peak %.0f MB", round,
          peer.wall, peer.processor, ours.wall, ours.processor, ratios[round - 1], ours.peak))
    }
    let ratio = ratios.sorted()[ratios.count / 2]
    let peak = (peaks.max() ?? .infinity) / (Double(size) / 1_000_000)
    say(String(format: "\nmedian of the ratios %.2f, below 0.5: %@", ratio, ratio < 0.5 ? "kept" : "BROKEN"))
    say(String(format: "highest peak %.2f times the file, below 1.5: %@", peak, peak < 1.5 ? "kept" : "BROKEN"))
    return ratio < 0.5 && peak < 1.5
  }

  private static func firstAnswer(
    _ command: URL, _ cassette: URL
  ) throws -> (wall: Double, processor: Double, peak: Double) {
    let start = ContinuousClock.now
    let server = try Server.diorama(command, replaying: cassette)
    defer { server.stop() }
    let last = interactions - 1
    let answer = try PlainConnection(port: server.port).exchange("GET \(path(last)) HTTP/1.1")
    let wall = (ContinuousClock.now - start) / .seconds(1)
    guard answer.status == 200, answer.body == LargeCassette.body(last, padding: answer.body) else {
      throw CodedError(.inputOutput, "the first response is not the recorded one; its status is \(answer.status)")
    }
    return (wall, try server.processorSeconds(), try server.peakMegabytes())
  }

  private static func pythonLoad(_ file: String) throws -> (wall: Double, processor: Double) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      """
      import json, sys, time
      wall, processor = time.perf_counter(), time.process_time()
      with open(sys.argv[1], encoding="utf-8") as file:
          cassette = json.load(file)
      print(time.perf_counter() - wall, time.process_time() - processor)
      """, file,
    ]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard numbers.count == 2 else { throw CodedError(.inputOutput, "python3 cannot load \(file)") }
    return (numbers[0], numbers[1])
  }
}

/// A cassette as recorded by Diorama, with JSON bodies.
enum LargeCassette {
  /// A body with padding, characters that JSON must escape, and text beyond ASCII.
  static func body(_ index: Int, padding: Int) -> [UInt8] {
    let slots = (0..<4).map { #"{"id":\#(index * 4 + $0),"name":"Dr Pixel \#($0)","note":"Zürich\nfree","free":true}"# }
    let padding = String(repeating: "x", count: max(0, padding))
    return Array(#"{"clinician":\#(index),"slots":[\#(slots.joined(separator: ","))],"padding":"\#(padding)"}"#.utf8)
  }

  /// A body with the length of another.
  static func body(_ index: Int, padding like: [UInt8]) -> [UInt8] {
    body(index, padding: like.count - body(index, padding: 0).count)
  }

  private static func interaction(_ index: Int, padding: Int) -> Interaction {
    let body = body(index, padding: padding)
    return Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 1.25,
      request: RecordedRequest(
        method: "GET", url: "http://127.0.0.1:9\(path(index))",
        headers: ["Host": "127.0.0.1:9", "User-Agent": "clinic/1.0", "Accept": "application/json"], body: .empty),
      response: RecordedResponse(
        status: 200, reason: "OK",
        headers: [
          "Server": "nginx", "Date": "Mon, 08 Oct 2018 09:00:00 GMT", "Content-Type": "application/json",
          "Content-Length": "\(body.count)", "Cache-Control": "no-store", "X-Request-Id": "request-\(index)-of-many",
        ], body: .bytes(body)))
  }

  /// Writes the cassette.
  ///
  /// - Returns: its path without extension.
  static func write(of count: Int, bytes: Int, in scratch: Scratch) throws -> URL {
    let base = scratch.file("large")
    let file = base.appendingPathExtension("har")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: 9)
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [CassetteHeader.Upstream(name: "api", origin: origin)])
    let padding = bytes / count - HAR.entry(interaction(count, padding: 0), isFirst: false).count
    try handle.write(contentsOf: HAR.prologue(header))
    var chunk: [UInt8] = []
    for index in 0..<count {
      chunk += HAR.entry(interaction(index, padding: padding), isFirst: index == 0)
      guard chunk.count > 1 << 20 else { continue }
      try handle.write(contentsOf: chunk)
      chunk = []
    }
    try handle.write(contentsOf: chunk + HAR.epilogue())
    try handle.close()
    return base
  }
}
