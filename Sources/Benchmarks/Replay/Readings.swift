import Foundation

/// What the kernel tells of a process and of the machine.
enum Readings {
  /// User and system time of all threads, in seconds: fields 14 and 15 of proc(5)'s `/proc/PID/stat`.
  static func processorSeconds(of process: Int32) throws -> Double {
    let text = try read("/proc/\(process)/stat")
    // The second field is the program's name in parentheses and may hold blanks: count from its end.
    guard let end = text.lastIndex(of: ")") else { throw BenchError("/proc/\(process)/stat is not as expected") }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw BenchError("/proc/\(process)/stat is not as expected")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Anonymous resident memory, in megabytes of 1,000,000 bytes.
  static func anonymousMegabytes(of process: Int32) throws -> Double { try megabytes("RssAnon", of: process) }

  /// A field of proc(5)'s `/proc/PID/status`, in megabytes of 1,000,000 bytes.
  static func megabytes(_ field: String, of process: Int32) throws -> Double {
    for line in try read("/proc/\(process)/status").split(separator: "\n") where line.hasPrefix("\(field):") {
      guard let kibibytes = line.split(separator: " ").compactMap({ Double($0) }).first else { break }
      return kibibytes * 1024 / 1_000_000
    }
    throw BenchError("/proc/\(process)/status has no \(field)")
  }

  /// What a process has of what runs out.
  struct Resources {
    var anonymousMegabytes: Double
    var descriptors: Int
    var threads: Int
  }

  static func resources(of process: Int32) throws -> Resources {
    func entries(_ folder: String) throws -> Int {
      do {
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/\(folder)").count
      } catch {
        throw BenchError("cannot look into /proc/\(process)/\(folder): has the process ended?")
      }
    }
    return Resources(
      anonymousMegabytes: try anonymousMegabytes(of: process), descriptors: try entries("fd"),
      threads: try entries("task"))
  }

  fileprivate static func read(_ path: String) throws -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchError("cannot read \(path); this needs Linux and a running process")
    }
    return String(decoding: data, as: UTF8.self)
  }
}

/// The machine in a line: figures mean nothing without it.
func machine() -> String {
  let information = (try? Readings.read("/proc/cpuinfo")) ?? ""
  let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?
    .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
  let kernel = (try? Readings.read("/proc/sys/kernel/osrelease"))?.trimmingCharacters(in: .whitespacesAndNewlines)
  let memory = ProcessInfo.processInfo.physicalMemory / 1_000_000_000
  return """
    machine: \(ProcessInfo.processInfo.activeProcessorCount) cores (\(model ?? "unknown")), \(memory) GB, \
    Linux \(kernel ?? "unknown")
    \(version(of: "nginx", "-v")) · \(version(of: "wrk", "-v"))
    """
}

/// The first line in which a tool tells its version.
private func version(of tool: String, _ argument: String) -> String {
  let process = Process()
  let words = Pipe()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [tool, argument]
  process.standardOutput = words
  process.standardError = words
  guard (try? process.run()) != nil else { return "\(tool): unknown" }
  let text = String(decoding: words.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  let line = text.split(separator: "\n").first.map(String.init) ?? "\(tool): unknown"
  return line.components(separatedBy: " [epoll]")[0]
}
