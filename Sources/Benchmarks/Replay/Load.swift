import Foundation

/// One run of wrk.
struct Load {
  let script: URL
  let connections: Int
  let seconds: Int

  /// Writes a script that asks for one interaction after the other and prints the results as numbers.
  static func writeScript(cyclingThrough size: Int, in scratch: Scratch) throws -> URL {
    let path = path(0).replacingOccurrences(of: "/0/", with: "/%d/")
    return try writeScript(
      "cycle-\(size)", count: size, request: #"wrk.format("GET", string.format("\#(path)", i))"#, in: scratch)
  }

  /// Writes a script that sends one request after the other and prints the results as numbers.
  ///
  /// Every thread begins at another place. The requests are made beforehand: building them would cost wrk more than sending them.
  ///
  /// - Parameters:
  ///   - name: of the script.
  ///   - count: how many requests there are.
  ///   - request: Lua that makes the one with the number `i`.
  ///   - scratch: where it is put.
  /// - Returns: the script.
  /// - Throws: when it cannot be written.
  static func writeScript(_ name: String, count: Int, request: String, in scratch: Scratch) throws -> URL {
    let script = scratch.file("\(name).lua")
    try Data(
      """
      local threads = 0
      function setup(thread)
        thread:set("number", threads)
        threads = threads + 1
      end
      local requests, next = {}, 0
      function init(args)
        for i = 0, \(count) - 1 do
          requests[i] = \(request)
        end
        next = number * math.floor(\(count) / 2)
      end
      function request()
        local i = next
        next = i + 1
        if next == \(count) then next = 0 end
        return requests[i]
      end
      function done(summary, latency)
        local e = summary.errors
        print(string.format("result %d %d %.1f %.1f %d", summary.requests, summary.duration,
          latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
      end

      """.utf8
    ).write(to: script)
    return script
  }

  /// Loads the server for so long that it is warm: WireMock runs on a JVM, and has not one answer in its first second
  /// where it looks through a thousand stubs.
  func warm(_ server: Server) {
    _ = try? Load(script: script, connections: connections, seconds: max(seconds, 5)).run(against: server)
  }

  /// Loads the server and reads its CPU time before and after.
  func run(against server: Server) throws -> Sample {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "wrk", "-t", connections == 1 ? "1" : "2", "-c", "\(connections)", "-d", "\(seconds)s", "--latency",
      "-s", script.path, server.origin,
    ]
    process.standardOutput = output
    let before = try server.processorSeconds()
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let used = try server.processorSeconds() - before
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("result ") }) else {
      throw BenchError("wrk gave no result; is it installed? Config/bootstrap bench installs it")
    }
    let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard numbers.count == 5, numbers[0] > 0 else { throw BenchError("wrk got no answer from \(server.origin)") }
    guard numbers[4] == 0 else {
      throw BenchError("\(Int(numbers[4])) requests to \(server.origin) failed: the figures would mean nothing")
    }
    server.answered += Int(numbers[0])
    return Sample(
      rate: numbers[0] / (numbers[1] / 1_000_000), median: numbers[2], slowest: numbers[3],
      processor: used / numbers[0] * 1_000_000)
  }
}

/// What one round showed.
struct Sample {
  /// Requests a second.
  var rate: Double
  /// Latency of the median request, in microseconds.
  var median: Double
  /// Latency of the 99th percentile, in microseconds.
  var slowest: Double
  /// The server's CPU time a request, in microseconds.
  var processor: Double

  /// Each figure's median on its own.
  static func median(of samples: [Sample]) -> Sample {
    func middle(_ figure: (Sample) -> Double) -> Double {
      let sorted = samples.map(figure).sorted()
      return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
    return Sample(
      rate: middle(\.rate), median: middle(\.median), slowest: middle(\.slowest), processor: middle(\.processor))
  }
}
