import Foundation

/// portserver.py, from the environment of Python that `Config/venv portpicker` makes.
final class PeerPortserver {
  let address: String
  private let process = Process()

  init(address: String, ports: String, scratch: Scratch) throws {
    self.address = address
    let folder = URL(fileURLWithPath: ".build/portpicker/bin")
    let python = folder.appendingPathComponent("python")
    guard FileManager.default.isExecutableFile(atPath: python.path) else {
      throw BenchError("portserver.py is not there; run Config/venv portpicker in the package's folder first")
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
        throw BenchError("portserver.py does not come up: \(try String(contentsOf: words, encoding: .utf8))")
      }
      usleep(10_000)
    }
  }

  /// Ends it and waits for that.
  func stop() {
    process.interrupt()
    process.waitUntilExit()
  }
}
