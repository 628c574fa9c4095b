import Basics
import Foundation

/// Leases with the portserver protocol: `diorama serve` beside portpicker's portserver.py, with one client.
enum PortsBench {
  /// The number of leases in a round. The pool must be large enough for all rounds.
  private static let leases = 1_500
  private static let rounds = 7

  /// Measures and prints; false if the limit is missed.
  static func run(_ settings: Settings) throws -> Bool {
    say(machine())
    let scratch = try Scratch()
    defer { scratch.remove() }
    let address = "@diorama-bench-\(getpid())"
    let daemon = try DaemonProcess(
      settings.diorama, state: scratch.file("state"), ports: "20000-32767", portserver: address)
    defer { daemon.stop() }
    let peer = try PeerPortserver(address: address + "-peer", ports: "7200-19967", scratch: scratch)
    defer { peer.stop() }

    say("\nleases a second, one client, a connection each; \(rounds) alternating rounds of \(leases)\n")
    var ratios: [Double] = []
    for round in 0...rounds {
      let theirs = try measure(peer.address)
      let ours = try measure(address)
      // The first round warms up.
      guard round > 0 else { continue }
      ratios.append(ours / theirs)
      say(
        String(
          format: "round %d   portserver.py %7.0f   diorama %7.0f   ratio %5.2f", round, theirs, ours, ours / theirs))
    }
    let ratio = ratios.sorted()[rounds / 2]
    let isKept = ratio >= 3
    say(String(format: "\nmedian of the ratios %.2f, at least 3: %@", ratio, isKept ? "kept" : "BROKEN"))
    return isKept
  }

  /// Leases ports for a process that ends afterwards.
  private static func measure(_ address: String) throws -> Double {
    let owner = Process()
    owner.executableURL = URL(fileURLWithPath: "/bin/sleep")
    owner.arguments = ["1000"]
    try owner.run()
    defer {
      owner.terminate()
      owner.waitUntilExit()
    }
    let request = Array("\(owner.processIdentifier)\n".utf8)
    let start = ContinuousClock.now
    for _ in 0..<leases {
      guard try ask(address, request) > 0 else { throw CodedError(.inputOutput, "\(address) has no free port") }
    }
    return Double(leases) / ((ContinuousClock.now - start) / .seconds(1))
  }

  /// Requests a port like portpicker's client.
  private static func ask(_ address: String, _ request: [UInt8]) throws -> Int {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var unix = sockaddr_un()
    unix.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &unix.sun_path) { $0.copyBytes(from: [0] + address.utf8.dropFirst()) }
    let length = socklen_t(2 + address.utf8.count)
    let status = withUnsafePointer(to: &unix) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    guard status == 0, send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      throw CodedError(.inputOutput, "cannot reach \(address): \(String(cString: strerror(errno)))")
    }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return Int(String(decoding: buffer[..<max(0, count)].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) ?? 0
  }
}

/// portserver.py, from the Python environment made by `Config/venv portpicker`.
final class PeerPortserver {
  let address: String
  private let process = Process()

  init(address: String, ports: String, scratch: Scratch) throws {
    self.address = address
    let folder = URL(fileURLWithPath: ".build/portpicker/bin")
    let python = folder.appendingPathComponent("python")
    guard FileManager.default.isExecutableFile(atPath: python.path) else {
      throw CodedError(.inputOutput, "portserver.py is missing; run Config/venv portpicker in the package folder")
    }
    let words = scratch.file("portserver.log")
    try Data().write(to: words)
    process.executableURL = python
    process.arguments = [
      folder.appendingPathComponent("portserver.py").path, "--portserver_address", address,
      "--portserver_static_pool", ports,
    ]
    process.standardError = try FileHandle(forWritingTo: words)
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let deadline = ContinuousClock.now + .seconds(30)
    while !(try String(contentsOf: words, encoding: .utf8)).contains("Serving on") {
      guard process.isRunning, .now < deadline else {
        throw CodedError(.inputOutput, "portserver.py did not start: \(try String(contentsOf: words, encoding: .utf8))")
      }
      usleep(10_000)
    }
  }

  /// Terminates the process and waits for its end.
  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
