#if os(Linux)
  import Foundation
  import TestSupport

  /// A private D-Bus session with a GNOME Keyring, in a separate folder, without a display or the user's data.
  final class PrivateKeyring: Sendable {
    struct Trouble: Error, CustomStringConvertible {
      let description: String
    }

    static let password = "open sesame"

    let folder: String
    /// The session's environment variables.
    let environment: [String: String]
    private let bus: Child

    /// Starts the bus only.
    ///
    /// - Throws: ``Trouble`` with the packages to install if a program is missing.
    init() throws {
      for program in ["dbus-daemon", "dbus-monitor", "dbus-send", "gnome-keyring-daemon"] {
        guard Self.path(of: program) != nil else {
          throw Trouble(
            description: "\(program) is missing: run Config/bootstrap test, or install gnome-keyring, dbus-daemon and "
              + "dbus-bin")
        }
      }
      let base = FileManager.default.temporaryDirectory.path
      // A socket's path has at most 107 bytes.
      folder = "\(base)/dio-\(UUID().uuidString.prefix(8).lowercased())"
      for name in ["", "/home", "/run"] {
        try FileManager.default.createDirectory(
          atPath: folder + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      }
      try Self.configuration(folder).write(toFile: "\(folder)/bus.conf", atomically: true, encoding: .utf8)
      let variables = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
      bus = try Child(
        ["dbus-daemon", "--config-file=\(folder)/bus.conf", "--nofork", "--print-address"].map { Array($0.utf8) },
        environment: variables)
      let address = try bus.line()
      environment = variables.merging([
        "DBUS_SESSION_BUS_ADDRESS": address, "HOME": "\(folder)/home", "XDG_RUNTIME_DIR": "\(folder)/run",
        "XDG_DATA_HOME": "\(folder)/home/data", "XDG_CONFIG_HOME": "\(folder)/home/config",
        "XDG_CACHE_HOME": "\(folder)/home/cache",
      ]) { $1 }
    }

    deinit {
      endBus()
      try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ends the session.
    func endBus() {
      bus.send(SIGTERM)
      _ = bus.finish()
    }

    /// Starts a keyring, unlocked with ``password``, and returns once it responds.
    ///
    /// A restarted keyring keeps its content.
    func start() throws -> Child {
      let monitor = try Child(
        [
          "dbus-monitor", "--address", environment["DBUS_SESSION_BUS_ADDRESS"] ?? "",
          "type='signal',member='NameOwnerChanged',arg0='org.freedesktop.secrets'",
        ].map { Array($0.utf8) }, environment: environment)
      defer {
        monitor.send(SIGTERM)
        _ = monitor.finish()
      }
      // The bus name has been released; from here on, the bus delivers all signals.
      try monitor.wait(for: "NameLost")
      // A copy has no file capabilities, which many containers do not allow. Another process makes the copy, since a program
      // cannot be started while any process has it open for writing.
      let copy = "\(folder)/gnome-keyring-daemon"
      if !FileManager.default.fileExists(atPath: copy), let program = Self.path(of: "gnome-keyring-daemon") {
        _ = try Child(["cp", program, copy].map { Array($0.utf8) }, environment: environment).finish()
      }
      let daemon = try Child(
        [copy, "--foreground", "--unlock", "--components=secrets", "--control-directory=\(folder)/run/control"]
          .map { Array($0.utf8) }, environment: environment, input: .bytes(Array(Self.password.utf8)))
      try monitor.wait(for: "string \"org.freedesktop.secrets\"")
      return daemon
    }

    /// Ends a keyring started with ``start()``.
    func end(_ daemon: Child) {
      daemon.send(SIGTERM)
      _ = daemon.finish()
    }

    /// Calls a method of the keyring, as any program can.
    ///
    /// - Returns: the output of `dbus-send`.
    @discardableResult
    func call(_ method: String, at path: String = "/org/freedesktop/secrets", _ arguments: String...) throws -> String {
      let outcome = try Child(
        (["dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.secrets", path, method] + arguments)
          .map { Array($0.utf8) }, environment: environment
      ).finish()
      guard outcome.status == 0 else { throw Trouble(description: "\(method): \(outcome.words)") }
      return outcome.text
    }

    /// Locks the keyring unlocked by `start()`.
    func lock() throws {
      try call("org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login")
    }

    /// Without service folders, so nothing starts by itself, in particular no prompt.
    private static func configuration(_ folder: String) -> String {
      """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <type>session</type>
        <listen>unix:path=\(folder)/bus</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*" eavesdrop="true"/>
          <allow eavesdrop="true"/>
          <allow own="*"/>
        </policy>
      </busconfig>
      """
    }

    private static func path(of program: String) -> String? {
      let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
      return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
  }
#endif
