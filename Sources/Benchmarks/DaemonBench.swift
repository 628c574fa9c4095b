import Basics
import ControlAPI
import Foundation
import LaunchContract

/// The cost of environments in a daemon: the time to provision one, its memory, and leftovers after all have ended.
enum DaemonBench {
  private static let count = 2_000
  private static let requests = 100
  private static let ports = "33000-48000"

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) throws -> Bool {
    say(machine())
    let scratch = try Scratch(in: stateParent)
    defer { scratch.remove() }
    let cassette = try writeCassette(of: 10, in: scratch)
    let daemon = try DaemonProcess(settings.diorama, state: scratch.file("state"), ports: ports)
    defer { daemon.stop() }
    let connection = try PlainConnection(port: daemon.control)
    // The first environments also create what all share: threads, pages, compiled statements.
    for id in try (0..<20).map({ _ in try provision(connection, daemon, cassette).id }) {
      try end(id, connection, daemon)
    }
    let before = try Readings.resources(of: daemon.id)

    var samples: [Double] = []
    var environments: [ProvisionedEnvironment] = []
    for _ in 0..<count {
      let start = ContinuousClock.now
      let answer = try post(connection, daemon, cassette)
      samples.append((ContinuousClock.now - start) / .milliseconds(1))
      environments.append(try JSONDecoder().decode(ProvisionedEnvironment.self, from: Data(answer)))
    }
    for environment in environments { try ask(environment) }
    let full = try Readings.resources(of: daemon.id)
    for environment in environments { try end(environment.id, connection, daemon) }
    let after = try settled(daemon, below: before)

    samples.sort()
    let kilobytes = (full.anonymousMegabytes - before.anonymousMegabytes) * 1e6 / 1024 / Double(count)
    say("\n\(count) environments in one daemon, each with one port and \(requests) requests\n")
    var isKept = true
    func claim(_ name: String, _ value: Double, _ limit: Double, _ unit: String) {
      isKept = isKept && value <= limit
      let figures = String(
        format: "%10.2f %@, at most %.0f: %@", value, unit, limit, value <= limit ? "kept" : "BROKEN")
      say(name + String(repeating: " ", count: max(0, 36 - name.count)) + figures)
    }
    claim("provisioning, median", samples[count / 2], 2, "ms")
    claim("provisioning, 99th percentile", samples[count * 99 / 100], 20, "ms")
    claim("anonymous memory of one", kilobytes, 64, "KiB")
    claim("descriptors left over", Double(after.descriptors - before.descriptors), 0, "")
    claim("threads left over", Double(after.threads - before.threads), 0, "")
    return isKept
  }

  /// The remaining resources, after the daemon has closed its side of the clients' connections.
  private static func settled(_ daemon: DaemonProcess, below before: Readings.Resources) throws -> Readings.Resources {
    let deadline = ContinuousClock.now + .seconds(10)
    while true {
      let now = try Readings.resources(of: daemon.id)
      if now.descriptors <= before.descriptors && now.threads <= before.threads || .now > deadline { return now }
      usleep(10_000)
    }
  }

  /// The default location of a daemon's state: in memory, if the system has a memory file system.
  private static var stateParent: URL {
    let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].map { URL(fileURLWithPath: $0) }
    return runtime ?? URL(fileURLWithPath: FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp")
  }

  static func post(
    _ connection: PlainConnection, _ daemon: DaemonProcess, _ cassette: URL
  ) throws -> [UInt8] {
    let body =
      #"{"name":"bench","mode":"replay","cassette":"\#(cassette.path)","upstreams":{"api":"http://127.0.0.1:9"}}"#
    let answer = try connection.exchange(
      "POST /v1/environments HTTP/1.1\r\nAuthorization: Bearer \(daemon.token)\r\nContent-Type: application/json",
      body: Array(body.utf8))
    guard answer.status == 201 else {
      throw CodedError(
        .inputOutput,
        "provisioning failed with status \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
    }
    return answer.body
  }

  private static func provision(
    _ connection: PlainConnection, _ daemon: DaemonProcess, _ cassette: URL
  ) throws -> ProvisionedEnvironment {
    try JSONDecoder().decode(ProvisionedEnvironment.self, from: Data(try post(connection, daemon, cassette)))
  }

  private static func ask(_ environment: ProvisionedEnvironment) throws {
    guard let url = environment.endpoints["api"].flatMap(URL.init(string:)), let port = url.port else {
      throw CodedError(.inputOutput, "environment \(environment.id) has no endpoint")
    }
    let connection = try PlainConnection(port: UInt16(port))
    for index in 0..<requests {
      let answer = try connection.exchange("GET \(path(index % 10)) HTTP/1.1")
      guard answer.status == 200 else {
        throw CodedError(.inputOutput, "environment \(environment.id) responded with \(answer.status)")
      }
    }
  }

  private static func end(_ id: String, _ connection: PlainConnection, _ daemon: DaemonProcess) throws {
    let answer = try connection.exchange(
      "DELETE /v1/environments/\(id) HTTP/1.1\r\nAuthorization: Bearer \(daemon.token)")
    guard answer.status == 200 else {
      throw CodedError(.inputOutput, "ending \(id) failed with status \(answer.status)")
    }
  }
}

/// A separate `diorama serve` with its own state folder and ports.
final class DaemonProcess {
  let id: Int32
  let control: UInt16
  let token: String
  private let process = Process()

  /// - Parameters:
  ///   - command: the command `diorama`.
  ///   - state: the state folder.
  ///   - ports: the port pool, such as `20000-32767`.
  ///   - portserver: the address for the portserver protocol; empty to turn it off.
  ///   - options: further options of the command.
  /// - Throws: ``CodedError`` if it does not start.
  init(_ command: URL, state: URL, ports: String, portserver: String = "", options: [String] = []) throws {
    let output = Pipe()
    process.executableURL = command
    process.arguments =
      [
        "serve", "--state", state.path, "--ports", ports, "--portserver-address", portserver, "--log-level", "warning",
      ] + options
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    id = process.processIdentifier
    var line = Data()
    while line.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty
    {
      line += byte
    }
    guard let ready = try? JSONDecoder().decode(ReadyLine.self, from: line),
      let port = URL(string: ready.control)?.port.flatMap(UInt16.init(exactly:))
    else {
      throw CodedError(.inputOutput, "diorama serve did not start; run \(command.path) serve to see why")
    }
    let file = try Data(contentsOf: URL(fileURLWithPath: ready.tokenFile))
    control = port
    token = try JSONDecoder().decode(ControlFile.self, from: file).token.revealed
  }

  /// Terminates the process and waits for its end.
  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
