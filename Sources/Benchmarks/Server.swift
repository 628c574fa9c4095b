import Basics
import Foundation

/// A running server.
final class Server {
  /// The origin, such as `http://127.0.0.1:20013`.
  let origin: String
  /// The processes that do the work, whose CPU time counts.
  let workers: [Int32]
  /// The number of requests since the start.
  var answered = 0
  private let process: Process
  private let input: Pipe?
  /// Reads what the programs print that the isolated command runs; nil if it is not isolated.
  private let output: Pipe?

  /// The port.
  var port: UInt16 { UInt16(origin.split(separator: ":").last ?? "") ?? 0 }

  init(origin: String, workers: [Int32], process: Process, input: Pipe?, output: Pipe? = nil) {
    self.origin = origin
    self.workers = workers
    self.process = process
    self.input = input
    self.output = output
  }

  /// Runs `diorama run` with a command that prints the endpoint and waits for the end of its input.
  ///
  /// - Parameters:
  ///   - command: the `diorama` command.
  ///   - mode: the value of `--mode`.
  ///   - cassette: the path without extension; nil if the mode needs none.
  ///   - upstream: the backend.
  ///   - words: the file for its standard error.
  /// - Returns: the server, ready.
  /// - Throws: ``CodedError`` if it does not start.
  static func diorama(
    _ command: URL, mode: String, cassette: URL?, upstream: String, words: URL
  ) throws -> Server {
    try Data().write(to: words)
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    process.executableURL = command
    process.arguments =
      ["run", "--mode", mode] + (cassette.map { ["--cassette", $0.path] } ?? []) + [
        "--upstream", "api=\(upstream)", "--clock", "system", "--", "/bin/sh", "-c",
        #"echo "endpoint $DIORAMA_ENDPOINT_API"; cat >/dev/null"#,
      ]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: words)
    try process.run()
    guard let line = output.fileHandleForReading.line(withPrefix: "endpoint ") else {
      throw CodedError(.inputOutput, "diorama run did not start: \(try String(contentsOf: words, encoding: .utf8))")
    }
    let origin = String(line.dropFirst("endpoint ".count))
    return Server(origin: origin, workers: [process.processIdentifier], process: process, input: input)
  }

  /// Runs `diorama run` in replay, without a backend.
  static func diorama(_ command: URL, replaying cassette: URL) throws -> Server {
    try diorama(
      command, mode: "replay", cassette: cassette, upstream: "http://127.0.0.1:9",
      words: cassette.appendingPathExtension("words"))
  }

  /// Runs `diorama run --isolate` with a shell that runs programs for ``run(_:)``.
  ///
  /// - Parameters:
  ///   - command: the `diorama` command.
  ///   - arguments: options of `diorama run`.
  ///   - origin: the origin that programs load.
  ///   - words: the file for its standard error.
  /// - Returns: the server, ready.
  /// - Throws: ``CodedError`` if it does not start.
  static func isolated(_ command: URL, _ arguments: [String], origin: String, words: URL) throws -> Server {
    try Data().write(to: words)
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    process.executableURL = command
    process.arguments =
      ["run", "--isolate=namespaces", "--allow-no-requests"] + arguments + [
        "--", "/bin/sh", "-c",
        #"echo ready; while IFS= read -r line; do eval "$line" </dev/null; echo; echo "status $?"; done"#,
      ]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: words)
    try process.run()
    guard output.fileHandleForReading.line(withPrefix: "ready") != nil else {
      throw CodedError(
        .inputOutput, "diorama run --isolate did not start: \(try String(contentsOf: words, encoding: .utf8))")
    }
    return Server(
      origin: origin, workers: [process.processIdentifier], process: process, input: input, output: output)
  }

  /// Runs a program where it reaches the server: in the isolated command, or else beside the server.
  ///
  /// - Parameter words: the program and its arguments, without line breaks.
  /// - Returns: its standard output.
  /// - Throws: an error if it cannot be started.
  func run(_ words: [String]) throws -> String {
    guard let input, let output else {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = words
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return text
    }
    let line = words.map { "'" + $0.replacingOccurrences(of: "'", with: #"'\''"#) + "'" }.joined(separator: " ")
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    var lines: [String] = []
    while let line = output.fileHandleForReading.line(withPrefix: "") {
      guard !line.hasPrefix("status ") else { break }
      lines.append(line)
    }
    return lines.joined(separator: "\n")
  }

  /// Runs nginx with two workers and the same response to every request.
  static func nginx(in scratch: Scratch) throws -> Server {
    try nginx("return", in: scratch, location: "return 200 '\(answer)';")
  }

  /// Runs nginx with two workers.
  ///
  /// - Parameters:
  ///   - name: a name for its files.
  ///   - scratch: the folder for its files.
  ///   - http: directives of its `http` block.
  ///   - certificate: a file with a certificate and its key, for TLS.
  ///   - location: directives of its only `location`.
  /// - Returns: the server, ready.
  /// - Throws: ``CodedError`` if it does not start.
  static func nginx(
    _ name: String, in scratch: Scratch, http: String = "", certificate: URL? = nil, location: String
  ) throws -> Server {
    let port = try freePort()
    let configuration = scratch.file("\(name).conf")
    let tls = certificate.map {
      "ssl_protocols TLSv1.3; ssl_certificate \($0.path); ssl_certificate_key \($0.path);"
    }
    try Data(
      """
      daemon off;
      worker_processes 2;
      pid \(scratch.file("\(name).pid").path);
      error_log stderr notice;
      events { worker_connections 1024; }
      http {
        access_log off;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
        default_type application/json;
        client_body_temp_path \(scratch.file("\(name)-body").path);
        proxy_temp_path \(scratch.file("\(name)-proxy").path);
        fastcgi_temp_path \(scratch.file("\(name)-fastcgi").path);
        uwsgi_temp_path \(scratch.file("\(name)-uwsgi").path);
        scgi_temp_path \(scratch.file("\(name)-scgi").path);
        \(http)
        server { listen 127.0.0.1:\(port)\(tls == nil ? "" : " ssl"); \(tls ?? "") location / { \(location) } }
      }

      """.utf8
    ).write(to: configuration)
    let process = Process()
    let words = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["nginx", "-p", scratch.folder.path, "-e", "stderr", "-c", configuration.path]
    process.standardError = words
    try process.run()
    // nginx listens before it starts its workers, and logs their start.
    var workers: [Int32] = []
    while workers.count < 2,
      let line = words.fileHandleForReading.line(withPrefix: "", containing: "start worker process ")
    {
      workers += line.split(separator: " ").last.flatMap { Int32($0) }.map { [$0] } ?? []
    }
    guard workers.count == 2 else {
      throw CodedError(.inputOutput, "nginx did not start; install it with Config/bootstrap bench")
    }
    return Server(
      origin: "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)", workers: workers, process: process, input: nil)
  }

  /// Terminates the server and waits for its end.
  func stop() {
    if let input {
      try? input.fileHandleForWriting.close()
    } else {
      process.terminate()
    }
    process.waitUntilExit()
  }

  /// The CPU time of all workers, in seconds.
  func processorSeconds() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.processorSeconds(of: $1) }
  }

  /// RssAnon of all workers: allocated and used memory.
  func anonymousMegabytes() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.anonymousMegabytes(of: $1) }
  }

  /// VmHWM of all workers: peak resident memory, including files.
  func peakMegabytes() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.megabytes("VmHWM", of: $1) }
  }
}

/// A port that was free just now.
func freePort() throws -> UInt16 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let status = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
    }
  }
  guard status == 0 else { throw CodedError(.inputOutput, "no port is free: \(String(cString: strerror(errno)))") }
  return UInt16(bigEndian: address.sin_port)
}

extension FileHandle {
  /// Reads lines until one matches; nil at the end of the file.
  func line(withPrefix prefix: String, containing part: String = "") -> String? {
    var line: [UInt8] = []
    while let byte = try? read(upToCount: 1)?.first {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      let text = String(decoding: line, as: UTF8.self)
      if text.hasPrefix(prefix), part.isEmpty || text.contains(part) { return text }
      line = []
    }
    return nil
  }
}

/// Figures from the kernel.
enum Readings {
  /// User and system time of all threads, in seconds: fields 14 and 15 of proc(5)'s `/proc/PID/stat`.
  static func processorSeconds(of process: Int32) throws -> Double {
    let text = try read("/proc/\(process)/stat")
    // The second field is the program's name in parentheses and may contain spaces, so fields are counted from its end.
    guard let end = text.lastIndex(of: ")") else {
      throw CodedError(.inputOutput, "/proc/\(process)/stat is not as expected")
    }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw CodedError(.inputOutput, "/proc/\(process)/stat is not as expected")
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
    throw CodedError(.inputOutput, "/proc/\(process)/status has no \(field)")
  }

  /// The limited resources of a process.
  struct Resources {
    var anonymousMegabytes: Double
    var descriptors: Int
    var threads: Int
  }

  static func resources(of process: Int32) throws -> Resources {
    func entries(_ folder: String) throws -> Int {
      do { return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/\(folder)").count } catch {
        throw CodedError(.inputOutput, "cannot read /proc/\(process)/\(folder): has the process ended?")
      }
    }
    return Resources(
      anonymousMegabytes: try anonymousMegabytes(of: process), descriptors: try entries("fd"),
      threads: try entries("task"))
  }

  fileprivate static func read(_ path: String) throws -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CodedError(.inputOutput, "cannot read \(path); this needs Linux and a running process")
    }
    return String(decoding: data, as: UTF8.self)
  }
}

/// A description of the machine, which is needed to interpret the figures.
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

/// The first line of a tool's version.
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
