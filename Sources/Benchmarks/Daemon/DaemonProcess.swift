import ControlAPI
import Foundation
import LaunchContract

/// A `diorama serve` of its own: its state in a folder of ours, its ports away from everybody's.
final class DaemonProcess {
  let id: Int32
  let control: UInt16
  let token: String
  private let process = Process()

  /// - Parameters:
  ///   - command: the command `diorama`.
  ///   - state: where it keeps its state.
  ///   - ports: its pool, such as `20000-32767`.
  ///   - portserver: where it speaks the portserver protocol; empty for nowhere.
  /// - Throws: ``BenchError`` when it does not come up.
  init(_ command: URL, state: URL, ports: String, portserver: String = "") throws {
    let output = Pipe()
    process.executableURL = command
    process.arguments = [
      "serve", "--state", state.path, "--ports", ports, "--portserver-address", portserver, "--log-level", "warning",
    ]
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
      throw BenchError("diorama serve does not come up; run \(command.path) serve by hand")
    }
    let file = try Data(contentsOf: URL(fileURLWithPath: ready.tokenFile))
    control = port
    token = try JSONDecoder().decode(ControlFile.self, from: file).token.revealed
  }

  /// Ends it and waits for that.
  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
