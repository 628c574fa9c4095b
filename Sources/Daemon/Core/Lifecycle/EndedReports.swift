/// The reports of the environments that ended last, as JSON: so many, and so many bytes in all.
struct EndedReports: Sendable {
  private let limit: Int
  private let byteLimit: Int
  private var reports: [String: [UInt8]] = [:]
  private var order: [String] = []
  private var bytes = 0

  init(limit: Int, bytes: Int) {
    self.limit = limit
    byteLimit = bytes
  }

  /// Keeps a report, and lets go of the oldest where there are too many.
  mutating func add(_ id: String, _ report: [UInt8]) {
    guard reports[id] == nil else { return }
    reports[id] = report
    order.append(id)
    bytes += report.count
    // The last one stays whatever its size: somebody has just asked for it.
    while order.count > 1, order.count > limit || bytes > byteLimit {
      bytes -= reports.removeValue(forKey: order.removeFirst())?.count ?? 0
    }
  }

  /// Whether the environment is among them.
  func has(_ id: String) -> Bool { reports[id] != nil }

  /// The report as JSON; nil for an environment that is not among them.
  func report(_ id: String) -> [UInt8]? { reports[id] }
}
