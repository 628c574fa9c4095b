import Foundation

/// The medians of one size at one number of connections.
struct Result {
  let size: Int
  let connections: Int
  let nginx: Sample
  let diorama: Sample

  /// Diorama's rate as a part of nginx's: above 1 is faster.
  var rateRatio: Double { diorama.rate / nginx.rate }
  /// Diorama's CPU time a request as a multiple of nginx's: below 1 is cheaper.
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

/// The limits that a release keeps.
struct Limits {
  let results: [Result]
  let pairs: [Pair]

  /// Prints each limit with its figure; false when one is broken.
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
