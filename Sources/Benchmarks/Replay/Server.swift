import Foundation

/// A running server of one of the two kinds.
final class Server {
  /// Such as `http://127.0.0.1:20013`.
  let origin: String
  /// The processes that do the work: their CPU time counts.
  let workers: [Int32]
  /// Requests answered since the start.
  var answered = 0
  private let process: Process
  private let input: Pipe?

  /// Where it listens.
  var port: UInt16 { UInt16(origin.split(separator: ":").last ?? "") ?? 0 }

  init(origin: String, workers: [Int32], process: Process, input: Pipe?) {
    self.origin = origin
    self.workers = workers
    self.process = process
    self.input = input
  }

  /// `diorama run`, around a command that only says where the endpoint is and waits for the end of its input.
  ///
  /// - Parameters:
  ///   - command: diorama.
  ///   - mode: as in `--mode`.
  ///   - cassette: without the ending; nil where the mode needs none.
  ///   - upstream: the backend.
  ///   - words: where its report goes.
  /// - Returns: the server, ready.
  /// - Throws: ``BenchError`` when it does not come up.
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
      throw BenchError("diorama run does not come up: \(try String(contentsOf: words, encoding: .utf8))")
    }
    let origin = String(line.dropFirst("endpoint ".count))
    return Server(origin: origin, workers: [process.processIdentifier], process: process, input: input)
  }

  /// `diorama run` in replay, of a cassette whose backend is long gone.
  static func diorama(_ command: URL, replaying cassette: URL) throws -> Server {
    try diorama(
      command, mode: "replay", cassette: cassette, upstream: "http://127.0.0.1:9",
      words: cassette.appendingPathExtension("words"))
  }

  /// nginx with two workers that answers the same body to everything.
  static func nginx(in scratch: Scratch) throws -> Server {
    try nginx("return", in: scratch, location: "return 200 '\(answer)';")
  }

  /// nginx with two workers.
  ///
  /// - Parameters:
  ///   - name: tells its files from those of others.
  ///   - scratch: where these lie.
  ///   - http: directives of its `http` block.
  ///   - location: directives of its one `location`.
  /// - Returns: the server, ready.
  /// - Throws: ``BenchError`` when it does not come up.
  static func nginx(_ name: String, in scratch: Scratch, http: String = "", location: String) throws -> Server {
    let port = try freePort()
    let configuration = scratch.file("\(name).conf")
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
        server { listen 127.0.0.1:\(port); location / { \(location) } }
      }

      """.utf8
    ).write(to: configuration)
    let process = Process()
    let words = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["nginx", "-p", scratch.folder.path, "-e", "stderr", "-c", configuration.path]
    process.standardError = words
    try process.run()
    // nginx listens by the time it starts its workers, and says so.
    var workers: [Int32] = []
    while workers.count < 2,
      let line = words.fileHandleForReading.line(withPrefix: "", containing: "start worker process ")
    {
      workers += line.split(separator: " ").last.flatMap { Int32($0) }.map { [$0] } ?? []
    }
    guard workers.count == 2 else {
      throw BenchError("nginx does not start; is it installed? Config/bootstrap bench installs it")
    }
    return Server(origin: "http://127.0.0.1:\(port)", workers: workers, process: process, input: nil)
  }

  /// Ends it and waits for that.
  func stop() {
    if let input {
      try? input.fileHandleForWriting.close()
    } else {
      process.terminate()
    }
    process.waitUntilExit()
  }

  /// CPU time of all workers so far, in seconds.
  func processorSeconds() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.processorSeconds(of: $1) }
  }

  /// RssAnon of all workers: what the program has allocated and touched.
  func anonymousMegabytes() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.anonymousMegabytes(of: $1) }
  }

  /// VmHWM of all workers: the most memory that was ever resident, of files too.
  func peakMegabytes() throws -> Double {
    try workers.reduce(0) { try $0 + Readings.megabytes("VmHWM", of: $1) }
  }
}

/// A port that was free a moment ago.
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
  guard status == 0 else { throw BenchError("no port is free: \(String(cString: strerror(errno)))") }
  return UInt16(bigEndian: address.sin_port)
}

extension FileHandle {
  /// Reads lines until one begins and contains as asked; nil at the end of the file.
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
