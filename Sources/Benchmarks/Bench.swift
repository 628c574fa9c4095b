import Foundation

/// Compares Diorama with other programs, always in one run on one machine, because other figures are not comparable.
@main
enum Bench {
  static func main() async {
    do {
      let settings = try Settings(environment: ProcessInfo.processInfo.environment, arguments: CommandLine.arguments)
      let kept =
        switch settings.part {
        case .replay: try ReplayBench.run(settings)
        case .opening: try OpeningBench.run(settings)
        case .traffic: try TrafficBench.run(settings)
        case .mock: try MockBench.run(settings)
        case .large: try LargeBench.run(settings)
        case .app: try await AppBench.run()
        case .daemon: try DaemonBench.run(settings)
        case .link: try await LinkBench.run()
        case .fleet: try await FleetBench.run(settings)
        case .ports: try PortsBench.run(settings)
        case .isolation: try IsolationBench.run(settings)
        case .follow: try await LinkBench.follow()
        case .execute: try IsolationBench.execute(CommandLine.arguments.last ?? "")
        case .clock: IsolationBench.readClock()
        }
      guard kept || !settings.check else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// Prints a line without buffering, because a run takes minutes and standard output may be a file.
func say(_ line: any CustomStringConvertible) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}
