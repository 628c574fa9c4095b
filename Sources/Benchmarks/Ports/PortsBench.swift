import Foundation

/// Leases by the portserver protocol: `diorama serve` beside portpicker's own portserver.py, asked by one client.
enum PortsBench {
  /// A pool of each must last for all rounds.
  private static let leases = 1_500
  private static let rounds = 7

  /// Measures and prints; false when the limit does not hold.
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
      // The first one warms up.
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

  /// Takes leases for a process that ends afterwards.
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
      guard try ask(address, request) > 0 else { throw BenchError("\(address) has no port left") }
    }
    return Double(leases) / ((ContinuousClock.now - start) / .seconds(1))
  }

  /// What portpicker's client does for a port.
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
      throw BenchError("cannot reach \(address): \(String(cString: strerror(errno)))")
    }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return Int(String(decoding: buffer[..<max(0, count)].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) ?? 0
  }
}
