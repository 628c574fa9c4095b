import Basics
import ChildProcesses
import DioramaScenarios
import DioramaTesting
import Foundation
import LaunchContract

/// A headless Chromium with a profile of its own, and the connection to it.
final class ChromiumProcess: Sendable {
  let process: LaunchedProcess
  /// The folder of the profile; removed when Chromium has ended.
  let folder: String
  let connection: DevToolsConnection

  /// The names under which Chromium is installed, as package managers have them.
  private static let names = [
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
  ]

  /// - Parameters:
  ///   - executable: the program; nil for the variable `CHROMIUM`, else the first of the usual names.
  ///   - arguments: further arguments.
  ///   - width: the width of the window.
  ///   - height: the height of the window.
  /// - Throws: ``ScreenError`` of kind `notStarted`.
  init(executable: String?, arguments: [String], width: Int, height: Int) throws {
    let inherited = ProcessInfo.processInfo.environment
    let program = try Self.find(
      executable ?? inherited["CHROMIUM"].flatMap { $0.isEmpty ? nil : $0 }, inherited["PATH"])
    var variables: [String: String] = [:]
    if let environment = try? TestEnvironment.current {
      variables = try environment.launchEnvironment()
      variables.merge(InheritedVariables.proxyExceptions(inherited)) { $1 }
    }
    do { folder = try TemporaryFolder.make() } catch { throw ScreenError(.notStarted, error.message) }
    do {
      // Everything that Chromium writes is in the folder that is removed with it.
      for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"] { variables[name] = folder }
      let all = [program] + Self.arguments(profile: folder, width, height) + arguments + ["about:blank"]
      var spawn = Spawn(
        arguments: all.map { Array($0.utf8) }, environment: InheritedVariables.all(overridden: variables))
      let sockets = try DescriptorPair.sockets()
      defer { close(sockets.theirs) }
      // It reads from 3 and writes to 4.
      spawn.files = [.pass(sockets.theirs, as: 3), .pass(sockets.theirs, as: 4)]
      connection = DevToolsConnection(socket: sockets.ours)
      process = try LaunchedProcess(spawn, folder: folder)
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      throw ScreenError(.notStarted, error.message)
    }
  }

  deinit { process.send(SIGKILL, isExpected: true) }

  /// Connects, and hands over events and the end.
  func start(
    onEvent: @escaping @Sendable (_ method: String, _ parameters: JSON) -> Void, onEnd: @escaping @Sendable () -> Void
  ) {
    let process = process
    connection.start(onEvent: onEvent) {
      defer { onEnd() }
      return ScreenError(
        .ended, "Chromium ended unexpectedly; see the end of its standard error\(process.tail(lines: 10))")
    }
  }

  /// Ends Chromium, and waits until it has ended and its profile is removed.
  func end() async {
    connection.fail(ScreenError(.ended, "the page was closed; launch another one"))
    connection.post("Browser.close", session: nil)
    if await process.end(within: .seconds(5)) != nil { return }
    process.send(SIGKILL, isExpected: true)
    _ = await process.end(within: .seconds(60))
  }

  private static func find(_ wanted: String?, _ path: String?) throws -> String {
    for name in wanted.map({ [$0] }) ?? names {
      if (try? Spawn.check(Array(name.utf8), path: path)) != nil { return name }
    }
    guard let wanted else {
      throw ScreenError(
        .notStarted,
        "no Chromium in PATH (tried \(names.prefix(5).joined(separator: ", "))); install it (Debian: apt-get install "
          + "chromium), or set CHROMIUM to its path")
    }
    throw ScreenError(.notStarted, "no program '\(wanted)'; set CHROMIUM to the path of a Chromium")
  }

  private static func arguments(profile: String, _ width: Int, _ height: Int) -> [String] {
    var arguments = [
      "--headless=new", "--remote-debugging-pipe", "--user-data-dir=\(profile)/profile",
      "--window-size=\(width),\(height)", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars",
      "--mute-audio", "--disable-gpu", "--force-color-profile=srgb", "--password-store=basic", "--use-mock-keychain",
      // Nothing but what the page asks for.
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
      "--disable-default-apps", "--disable-breakpad", "--no-pings", "--metrics-recording-only",
      "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
      // A page in the background is drawn as one in front.
      "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
      "--disable-backgrounding-occluded-windows", "--disable-dev-shm-usage",
    ]
    // Its sandbox does not work as root.
    if geteuid() == 0 { arguments.append("--no-sandbox") }
    return arguments
  }
}
