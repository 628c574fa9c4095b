import Basics
import Foundation

/// Programs in `diorama run --isolate` beside programs that use endpoints, nginx's TLS, and the real clock.
struct IsolationBench {
  private static let host = "api.test"
  /// Programs started in a round.
  private static let executions = 200
  /// TLS connections in a round.
  private static let handshakes = 400

  private let settings: Settings
  private let scratch: Scratch
  private let verdicts = Verdicts()
  /// This program, which the isolated command runs.
  private let program: String

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    guard let program = Bundle.main.executablePath else {
      throw CodedError(.inputOutput, "the path of this program is unknown; start it by its path")
    }
    say(machine())
    say("medians of \(settings.rounds) alternating rounds; CPU is the server's own")
    let bench = IsolationBench(settings: settings, scratch: scratch, program: program)
    try bench.requests()
    try bench.encryptedRequests()
    try bench.setup()
    try bench.clocks()
    return bench.verdicts.hold()
  }

  // MARK: Requests

  /// The same replay by an endpoint and with isolation.
  private func requests() throws {
    let origin = "http://\(Self.host)"
    let cassette = try writeCassette(of: 1, from: origin, named: "plain", in: scratch)
    let endpoint = try Server.diorama(
      settings.diorama, mode: "replay", cassette: cassette, upstream: origin, words: scratch.file("endpoint.words"))
    defer { endpoint.stop() }
    let isolated = try Server.isolated(
      settings.diorama, replay(cassette), origin: origin, words: scratch.file("plain.words"))
    defer { isolated.stop() }
    let script = try Load.writeScript(cyclingThrough: 1, in: scratch)
    for connections in [1, 8, 32] {
      let medians = try Contest(
        title: "replay by HTTP", script: script,
        contestants: [.init(name: "endpoint", server: endpoint), .init(name: "diorama", server: isolated)]
      ).measure(settings, connections: connections)
      compare(medians, "\(connections) connections")
    }
    let closing = try Load.writeScript(
      "closing", count: 1, request: #"wrk.format("GET", "\#(path(0))", {Connection = "close"})"#, in: scratch)
    let medians = try Contest(
      title: "replay by HTTP, a connection for each request", script: closing,
      contestants: [.init(name: "endpoint", server: endpoint), .init(name: "diorama", server: isolated)]
    ).measure(settings, connections: 8)
    compare(medians, "a connection for each request")
  }

  /// On a busy machine, only the CPU time is comparable.
  private func compare(_ medians: [String: Sample], _ load: String) {
    guard let isolated = medians["diorama"], let endpoint = medians["endpoint"] else { return }
    let (rate, processor) = (isolated.rate / endpoint.rate, isolated.processor / endpoint.processor)
    verdicts.add(
      rate >= 0.8 || processor <= 1.25,
      String(
        format: "%@: rate %.2f of an endpoint's (at least 0.8), or CPU %.2f times (at most 1.25)", load, rate, processor
      ))
  }

  /// HTTPS, and its handshakes, beside nginx.
  private func encryptedRequests() throws {
    let origin = "https://\(Self.host)"
    let nginx = try Server.nginx(
      "tls", in: scratch, certificate: try writeCertificate(), location: "return 200 '\(answer)';")
    defer { nginx.stop() }
    let isolated = try Server.isolated(
      settings.diorama, replay(try writeCassette(of: 1, from: origin, named: "tls", in: scratch)), origin: origin,
      words: scratch.file("tls.words"))
    defer { isolated.stop() }
    let script = try Load.writeScript(cyclingThrough: 1, in: scratch)
    for connections in [1, 8, 32] {
      _ = try Contest(
        title: "replay by HTTPS", script: script,
        contestants: [.init(name: "nginx return", server: nginx), .init(name: "diorama", server: isolated)]
      ).measure(settings, connections: connections)
    }
    let client = scratch.file("handshakes.py")
    try Data(Self.handshakeClient.utf8).write(to: client)
    var samples: [(nginx: Handshakes, isolated: Handshakes)] = []
    for round in 0...settings.rounds {
      let sample = (try Handshakes(nginx, client), try Handshakes(isolated, client))
      // The first round warms up.
      if round > 0 { samples.append(sample) }
    }
    say("\nTLS 1.3 connections with one request each, without resumption, one at a time")
    say("                          ms   CPU ms")
    for (name, figures) in [("nginx return", samples.map(\.nginx)), ("diorama", samples.map(\.isolated))] {
      say(
        name.padding(toLength: 20, withPad: " ", startingAt: 0)
          + String(format: "%8.3f %8.3f", median(figures.map(\.time)), median(figures.map(\.processor))))
    }
    let time = median(samples.map { $0.isolated.time / $0.nginx.time })
    verdicts.add(time <= 1.5, String(format: "time of a TLS connection beside nginx: %.2f times (at most 1.5)", time))
  }

  private func replay(_ cassette: URL) -> [String] {
    ["--mode", "replay", "--cassette", cassette.path, "--clock", "system"]
  }

  /// A certificate of the kind that the environment's authority issues: ECDSA P-256.
  private func writeCertificate() throws -> URL {
    let file = scratch.file("certificate.pem")
    _ = try output(of: [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
      "-subj", "/CN=\(Self.host)", "-addext", "subjectAltName=DNS:\(Self.host)", "-keyout", file.path, "-out",
      file.path + ".crt",
    ])
    let certificate = try Data(contentsOf: URL(fileURLWithPath: file.path + ".crt"))
    try (certificate + Data(contentsOf: file)).write(to: file)
    return file
  }

  /// A session that is not set is not resumed (Python's documentation of `ssl`, SSLSocket.session).
  private static let handshakeClient = """
    import socket, ssl, sys, time, urllib.parse
    url, path, count = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    request = f"GET {path} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\nConnection: close\\r\\n\\r\\n".encode()
    address = socket.gethostbyname(url.hostname), url.port or 443
    start, answers = time.perf_counter(), 0
    for _ in range(count):
        with socket.create_connection(address) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(plain, server_hostname="\(host)") as connection:
                connection.sendall(request)
                answer = b""
                while received := connection.recv(65536): answer += received
                answers += answer.startswith(b"HTTP/1.1 200")
    assert answers == count, f"{answers} of {count} connections were answered"
    print("result", (time.perf_counter() - start) / count * 1000)

    """

  /// A round of TLS connections: milliseconds each.
  private struct Handshakes {
    let time: Double
    let processor: Double

    init(_ server: Server, _ client: URL) throws {
      let count = IsolationBench.handshakes
      let before = try server.processorSeconds()
      time = try result(try server.run(["python3", client.path, server.origin, path(0), "\(count)"]))
      processor = (try server.processorSeconds() - before) / Double(count) * 1_000
    }
  }

  // MARK: Programs

  /// The time of a command that does nothing, with isolation and without.
  private func setup() throws {
    func time(_ options: [String]) throws -> Double {
      let start = ContinuousClock.now
      _ = try output(
        of: [settings.diorama.path, "run", "--mode", "mock", "--allow-no-requests"] + options + ["--", "true"])
      return (ContinuousClock.now - start) / .milliseconds(1)
    }
    let rounds = settings.rounds * 5
    var samples: [(plain: Double, isolated: Double)] = []
    for round in 0...rounds {
      let sample = (try time([]), try time(["--isolate=namespaces"]))
      if round > 0 { samples.append(sample) }
    }
    let plain = median(samples.map(\.plain))
    let added = median(samples.map { $0.isolated - $0.plain })
    say(
      String(
        format: "\n`diorama run -- true`: %.1f ms; isolated: %.1f ms; median of %d rounds", plain,
        median(samples.map(\.isolated)), rounds))
    verdicts.add(added <= 60, String(format: "set-up: %.1f ms (at most 60)", added))
  }

  /// Starting programs, and reading the clock.
  private func clocks() throws {
    // Ticking clocks calculate with the time that the kernel's function stores, which takes 3 ns, or 10 with a rate.
    let limits = ["frozen": 1, "ticking": 1.15, "scaled:2": 1.4]
    let kinds = limits.keys.sorted()
    var servers: [Server] = []
    defer { for server in servers { server.stop() } }
    for kind in kinds {
      servers.append(
        try Server.isolated(
          settings.diorama, ["--mode", "mock", "--clock", kind, "--start", "2018-10-08T09:00:00Z"], origin: "",
          words: scratch.file("\(kind).words")))
    }
    let programs = [("static", try writeStaticProgram()), ("dynamic", "/bin/true")]
    say("\nstarting a program, milliseconds each, medians of \(Self.executions)\n")
    for (name, path) in programs {
      var samples: [(plain: Double, isolated: Double)] = []
      for round in 0...settings.rounds {
        let command = [program, "execute", path]
        let sample = (try result(try output(of: command)), try result(try servers[0].run(command)))
        if round > 0 { samples.append(sample) }
      }
      let plain = median(samples.map(\.plain))
      let isolated = median(samples.map(\.isolated))
      let added = median(samples.map { $0.isolated - $0.plain })
      say(
        name.padding(toLength: 20, withPad: " ", startingAt: 0)
          + String(format: "%8.3f, frozen: %8.3f", plain, isolated)
      )
      verdicts.add(added <= 0.2, String(format: "an exec, %@: %.3f ms dearer (at most 0.2)", name, added))
    }

    say("\nclock_gettime(CLOCK_REALTIME), nanoseconds\n")
    var real: [Double] = []
    var shown = kinds.map { _ in [Double]() }
    for round in 0...settings.rounds * 3 {
      let plain = try result(try output(of: [program, "clock"]))
      let figures = try servers.map { try result(try $0.run([program, "clock"])) }
      guard round > 0 else { continue }
      real.append(plain)
      for (index, figure) in figures.enumerated() { shown[index].append(figure) }
    }
    say("real".padding(toLength: 20, withPad: " ", startingAt: 0) + String(format: "%8.2f", median(real)))
    for (kind, figures) in zip(kinds, shown) {
      let ratio = median(zip(figures, real).map { $0 / $1 })
      say(
        kind.padding(toLength: 20, withPad: " ", startingAt: 0)
          + String(format: "%8.2f %8.2f×", median(figures), ratio))
      let limit = limits[kind] ?? 1
      verdicts.add(
        ratio <= limit, String(format: "clock_gettime, %@: %.2f times (at most %.2f)", kind, ratio, limit))
    }
  }

  private func writeStaticProgram() throws -> String {
    let (source, file) = (scratch.file("true.c"), scratch.file("true"))
    try Data("int main(void) { return 0; }\n".utf8).write(to: source)
    _ = try output(of: ["cc", "-static", "-O2", "-o", file.path, source.path])
    return file.path
  }

  // MARK: What the isolated command runs

  /// Starts a program many times, and prints the median time in milliseconds.
  static func execute(_ path: String) throws -> Bool {
    var samples: [Double] = []
    for _ in 0..<executions {
      let start = ContinuousClock.now
      var process = pid_t()
      var status: Int32 = 0
      var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
      defer { free(arguments[0]) }
      guard posix_spawn(&process, path, nil, nil, &arguments, environ) == 0, waitpid(process, &status, 0) == process,
        status == 0
      else { throw CodedError(.inputOutput, "\(path) cannot be run") }
      samples.append((ContinuousClock.now - start) / .milliseconds(1))
    }
    say("result \(median(samples))")
    return true
  }

  /// Reads the clock, and prints the nanoseconds of a read: the least of many short series, which nothing interrupts.
  static func readClock() -> Bool {
    let reads = 2_000
    var least = Double.infinity
    for _ in 0..<500 {
      let start = ContinuousClock.now
      var time = timespec()
      for _ in 0..<reads { clock_gettime(CLOCK_REALTIME, &time) }
      least = min(least, (ContinuousClock.now - start) / .nanoseconds(1))
    }
    say("result \(least / Double(reads))")
    return true
  }
}

/// Runs a program, and returns what it prints.
///
/// - Throws: `CodedError` if it fails.
private func output(of words: [String]) throws -> String {
  let process = Process()
  let (output, errors) = (Pipe(), Pipe())
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = words
  process.standardOutput = output
  process.standardError = errors
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw CodedError(.inputOutput, "\(words.joined(separator: " ")) failed: \(message)")
  }
  return text
}

/// The number that a program prints after the word "result".
private func result(_ text: String) throws -> Double {
  let line = text.split(separator: "\n").first { $0.hasPrefix("result ") }
  guard let number = line.flatMap({ Double($0.dropFirst("result ".count)) }) else {
    throw CodedError(.inputOutput, "a program printed no result: \(text)")
  }
  return number
}

private func median(_ figures: [Double]) -> Double {
  let sorted = figures.sorted()
  return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}
