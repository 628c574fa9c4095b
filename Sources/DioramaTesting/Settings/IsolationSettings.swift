import EnvironmentConfiguration

extension TestEnvironment {
  /// How to isolate the programs that `diorama env enter` runs in a test's environment, and what they may reach.
  ///
  /// Their connections lead to the environment, whatever URLs they have.
  ///
  /// ```swift
  /// @Test(.environment(isolation: .init(deny: ["telemetry.example.net"])))
  /// func check() async throws {
  ///   let process = Process()
  ///   process.executableURL = URL(filePath: "/usr/local/bin/diorama")
  ///   process.arguments = ["env", "enter", "--", "./check"]
  ///   process.environment = try TestEnvironment.current.launchEnvironment()
  ///   …
  /// }
  /// ```
  public struct IsolationSettings: Sendable {
    /// How connections reach the environment.
    public enum Kind: String, Sendable {
      /// Namespaces where the system permits them, otherwise seccomp, otherwise the proxy.
      case auto
      /// A network of its own for each program.
      case namespaces
      /// Supervised system calls of each program.
      case seccomp
      /// Proxy and certificate variables, which some programs ignore.
      case proxy
    }

    var settings = EnvironmentConfiguration.Isolation()

    /// - Parameters:
    ///   - kind: how connections reach the environment.
    ///   - allow: the hosts that may be reached while recording, such as `*.example.com`; by default all.
    ///   - deny: the hosts whose requests get status 403.
    ///   - map: origins whose requests are sent to another one.
    ///   - publish: ports of the program that are reachable from outside, as `PORT` or `HOST:PORT`.
    ///   - hostPorts: ports of this machine that the program reaches at 127.0.0.1.
    ///   - random: whether random values of the program depend on the seed.
    public init(
      _ kind: Kind = .auto, allow: [String] = [], deny: [String] = [], map: [String: String] = [:],
      publish: [String] = [], hostPorts: [Int] = [], random: Bool? = nil
    ) {
      settings.kind = kind.rawValue
      settings.allow = allow
      settings.deny = deny
      settings.map = map
      settings.publish = publish
      settings.hostPorts = hostPorts
      settings.random = random
    }
  }
}
