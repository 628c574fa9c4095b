import Basics
import Foundation

/// A run of wrk.
struct Load {
  let script: URL
  let connections: Int
  let seconds: Int

  /// Writes a wrk script that cycles through the interactions and prints the results as numbers.
  static func writeScript(cyclingThrough size: Int, in scratch: Scratch) throws -> URL {
    let path = path(0).replacingOccurrences(of: "/0/", with: "/%d/")
    return try writeScript(
      "cycle-\(size)", count: size, request: #"wrk.format("GET", string.format("\#(path)", i))"#, in: scratch)
  }

  /// Writes a wrk script that cycles through requests and prints the results as numbers.
  ///
  /// Each thread starts at a different request. The requests are built in advance, because building one costs wrk more
  /// than sending it.
  ///
  /// - Parameters:
  ///   - name: the name of the script.
  ///   - count: the number of requests.
  ///   - request: Lua code for the request with the number `i`.
  ///   - scratch: the folder for the script.
  /// - Returns: the script.
  /// - Throws: an error if the script cannot be written.
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

  /// Runs load until the server is warm. WireMock runs on a JVM, and may not respond in the first second if it searches
  /// a thousand stubs.
  func warm(_ server: Server) {
    _ = try? Load(script: script, connections: connections, seconds: max(seconds, 5)).run(against: server)
  }

  /// Runs load, and reads the server's CPU time before and after.
  func run(against server: Server) throws -> Sample {
    let before = try server.processorSeconds()
    let text = try server.run([
      "wrk", "-t", connections == 1 ? "1" : "2", "-c", "\(connections)", "-d", "\(seconds)s", "--latency",
      "-s", script.path, server.origin,
    ])
    let used = try server.processorSeconds() - before
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("result ") }) else {
      throw CodedError(.inputOutput, "wrk printed no result; install it with Config/bootstrap bench")
    }
    let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard numbers.count == 5, numbers[0] > 0 else {
      throw CodedError(.inputOutput, "wrk got no response from \(server.origin)")
    }
    guard numbers[4] == 0 else {
      throw CodedError(
        .inputOutput, "\(Int(numbers[4])) requests to \(server.origin) failed, so the figures are invalid")
    }
    server.answered += Int(numbers[0])
    return Sample(
      rate: numbers[0] / (numbers[1] / 1_000_000), median: numbers[2], slowest: numbers[3],
      processor: used / numbers[0] * 1_000_000)
  }
}

/// The results of a round.
struct Sample {
  /// Requests per second.
  var rate: Double
  /// Latency of the median request, in microseconds.
  var median: Double
  /// Latency of the 99th percentile, in microseconds.
  var slowest: Double
  /// The server's CPU time per request, in microseconds.
  var processor: Double

  /// The median of each figure.
  static func median(of samples: [Sample]) -> Sample {
    func middle(_ figure: (Sample) -> Double) -> Double {
      let sorted = samples.map(figure).sorted()
      return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
    return Sample(
      rate: middle(\.rate), median: middle(\.median), slowest: middle(\.slowest), processor: middle(\.processor))
  }
}
