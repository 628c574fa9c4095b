import Foundation

/// Opening a cassette of 128 MB: from the start of `diorama` to its first answer, beside Python's `json.load` of the
/// same file, which does nothing with it.
enum OpeningBench {
  private static let interactions = 50_000
  private static let bytes = 128_000_000

  /// Measures and prints; false when a limit does not hold.
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
      // The first one warms up: the file is in the page cache then.
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
      throw BenchError("the first answer is not the recorded one, but \(answer.status)")
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
    guard numbers.count == 2 else { throw BenchError("python3 cannot load \(file)") }
    return (numbers[0], numbers[1])
  }
}
