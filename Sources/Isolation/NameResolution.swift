package import Basics
import Foundation

#if os(Linux)
  /// The files by which names inside resolve to Diorama.
  package enum NameResolution {
    /// Any address does: Diorama answers on port 53 of all of them.
    private static let servers = "nameserver 198.19.255.1\nnameserver fd64:696f::1\n"
    /// The sockets of resolver caches, which would ask the real servers.
    private static let caches = [
      "/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve",
      "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    ]

    /// Writes the files.
    ///
    /// - Parameter folder: an existing folder, which the command can read.
    /// - Returns: what has to be mounted.
    /// - Throws: ``CodedError`` if a file cannot be written.
    package static func binds(in folder: String) throws(CodedError) -> [IsolatedCommand.Bind] {
      let manager = FileManager.default
      var binds: [IsolatedCommand.Bind] = []
      func replace(_ path: String, with text: String) throws(CodedError) {
        guard manager.fileExists(atPath: path) else { return }
        let own = "\(folder)/\((path as NSString).lastPathComponent)"
        do { try text.write(toFile: own, atomically: false, encoding: .utf8) } catch {
          throw CodedError(.cannotWrite, "cannot write \(own): \(error.localizedDescription)")
        }
        binds.append(.init(source: own, target: path))
      }
      // resolv.conf(5), nsswitch.conf(5).
      try replace("/etc/resolv.conf", with: servers)
      let existing = (try? String(contentsOfFile: "/etc/nsswitch.conf", encoding: .utf8)) ?? ""
      try replace("/etc/nsswitch.conf", with: switching(existing))
      for path in Set(caches.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }).sorted()
      where manager.fileExists(atPath: path) {
        binds.append(.init(source: "/dev/null", target: path))
      }
      return binds
    }

    /// The content of nsswitch.conf with which hosts are found in /etc/hosts and by DNS only.
    ///
    /// - Parameter text: the system's content.
    /// - Returns: the same with another line for hosts.
    static func switching(_ text: String) -> String {
      let others = text.split(separator: "\n", omittingEmptySubsequences: false).filter {
        !$0.drop { $0 == " " || $0 == "\t" }.hasPrefix("hosts:")
      }
      return "hosts: files dns\n" + others.joined(separator: "\n")
    }
  }
#endif
