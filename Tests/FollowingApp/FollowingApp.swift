import Diorama
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sleeps repeatedly, and prints a line after each sleep: `awake 3 at 2018-10-08T09:03:00Z, on`.
///
/// `following-app SECONDS` sets the duration of each sleep.
@main
struct FollowingApp {
  static func main() async {
    do {
      let controls = try AppControls.launch()
      let seconds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 60
      say("ready")
      for count in 1... {
        try await controls.clock.sleep(for: .seconds(seconds))
        let flag = controls.toggles[.flag] ? "on" : "off"
        say("awake \(count) at \(controls.clock.now.formatted(.iso8601)), \(flag)")
      }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}

extension Toggle<Bool> {
  static let flag = Toggle("flag", default: false)
}
