import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the system says of this process; less where there is no `/proc`.
struct ProcessFigures: Sendable {
  private(set) var residentBytes: Int?
  private(set) var threads: Int?
  private(set) var descriptors: Int?
  /// Of user and system together.
  let cpuSeconds: Double

  init() {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    cpuSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    for line in status.split(separator: "\n") {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      guard words.count > 1, let number = Int(words[1]) else { continue }
      if words[0] == "VmRSS:" { residentBytes = number * 1024 }
      if words[0] == "Threads:" { threads = number }
    }
  }
}
