import Foundation
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("diorama serve", .timeLimit(.minutes(2)))
struct ServeTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  private var state: String { folder.file("state") }

  /// Starts a daemon without a portserver, whose default name is unique on the machine.
  private func start(_ options: [String] = [], variables: [String: String?] = [:]) async throws -> (
    child: Child, ready: [String: Any]
  ) {
    let words = ["serve", "--state", state, "--portserver-address", ""] + options
    let (child, line) = try await onThread {
      let child = try Diorama.start(words, variables: variables)
      return (child, try child.line())
    }
    return (child, try object(line))
  }

  private func mode(_ name: String) -> Int {
    var status = stat()
    return stat("\(state)/\(name)", &status) == 0 ? Int(status.st_mode & 0o777) : -1
  }

  @Test("prints one ready line, keeps its files private, and removes its control file on exit")
  func life() async throws {
    let (child, ready) = try await start()
    #expect(ready["pid"] as? Int == Int(child.pid))
    #expect(ready["tokenFile"] as? String == "\(state)/control.json")
    #expect(ready["socket"] as? String == "\(state)/control.sock")
    #expect((ready["control"] as? String)?.hasPrefix("http://127.0.0.1:") == true)
    #expect(mode("") == 0o700)
    #expect(mode("contracts") == 0o700)
    for name in ["control.json", "control.sock", "state.sqlite", "control.port"] {
      #expect(mode(name) == 0o600, "\(name)")
    }
    let status = try await Diorama.run("serve", "--status", "--json", "--state", state)
    #expect(try object(status.text)["pid"] as? Int == Int(child.pid))
    child.send(SIGHUP)
    child.send(SIGUSR1)
    child.send(SIGTERM)
    let outcome = try await onThread { child.finish() }
    #expect(outcome.status == 0)
    #expect(outcome.lines.contains { $0.contains(#""message":"statistics""#) })
    for line in outcome.lines { _ = try object(line) }
    #expect(mode("control.json") == -1)
    #expect(mode("control.sock") == -1)
  }

  @Test("keeps its port after a stop and a kill, and its token after a kill")
  func port() async throws {
    let (first, ready) = try await start()
    let token = try object(try folder.read("state/control.json"))["token"] as? String
    first.send(SIGKILL)
    _ = try await onThread { first.finish() }
    let (second, again) = try await start()
    #expect(again["control"] as? String == ready["control"] as? String)
    #expect(try object(try folder.read("state/control.json"))["token"] as? String == token)
    let stopped = try await Diorama.run("serve", "--stop", "--state", state)
    #expect(stopped.status == 0)
    #expect(try await onThread { second.finish() }.status == 0)
    let (third, last) = try await start()
    #expect(last["control"] as? String == ready["control"] as? String)
    #expect(try object(try folder.read("state/control.json"))["token"] as? String != token)
    third.send(SIGINT)
    #expect(try await onThread { third.finish() }.status == 0)
  }

  @Test("refuses a state folder in use, without affecting its daemon")
  func second() async throws {
    let (child, _) = try await start()
    let outcome = try await Diorama.run("serve", "--state", state, "--portserver-address", "")
    expectOneLine(outcome, status: 69, naming: "in use by another daemon, process \(child.pid)", "serve --stop")
    #expect(try await Diorama.run("serve", "--status", "--state", state).status == 0)
    child.send(SIGTERM)
    #expect(try await onThread { child.finish() }.status == 0)
  }

  @Test("stops regularly on two signals at once, as from timeout(1)")
  func toldTwice() async throws {
    let (child, _) = try await start()
    child.send(SIGTERM)
    child.send(SIGINT)
    #expect(try await onThread { child.finish() }.status == 0)
  }

  @Test("exits if its state folder is removed, and leaves another daemon's files alone")
  func removedFolder() async throws {
    let (child, _) = try await start()
    try FileManager.default.removeItem(atPath: state)
    let (second, _) = try await start()
    let outcome = try await onThread { child.finish() }
    #expect(outcome.status == 74)
    #expect(outcome.lines.contains { $0.contains("the state folder is gone") && $0.contains(state) })
    #expect(try await Diorama.run("serve", "--status", "--state", state).status == 0)
    second.send(SIGTERM)
    #expect(try await onThread { second.finish() }.status == 0)
  }

  @Test("exits when idle if started on demand")
  func onDemand() async throws {
    try folder.write(#"{"idleSeconds": 1, "portserverAddress": ""}"#, to: "d.json")
    let (child, _) = try await start(["--on-demand", "--config", folder.file("d.json")])
    let outcome = try await onThread { child.finish() }
    #expect(outcome.status == 0)
    #expect(outcome.words.contains("idle"))
    #expect(mode("control.json") == -1)
  }

  @Test("serves an inherited socket")
  func activation() async throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isUp = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    #expect(isUp)
    let words = try Diorama.words(["serve", "--state", state, "--portserver-address", ""])
    let shell = ["/bin/sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh"].map { Array($0.utf8) }
    let (child, line) = try await onThread {
      let child = try Child(
        shell + words, environment: Diorama.environment(["LISTEN_FDS": "1", "LISTEN_FDNAMES": "control"]),
        extra: [(ours: descriptor, theirs: 3)])
      return (child, try child.line())
    }
    close(descriptor)
    #expect(try object(line)["control"] as? String == "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
    #expect(try await Diorama.run("serve", "--status", "--state", state).status == 0)
    child.send(SIGTERM)
    #expect(try await onThread { child.finish() }.status == 0)
  }

  @Test("rejects invalid arguments before it creates anything")
  func usage() async throws {
    try folder.write(#"{"limit": 5}"#, to: "d.json")
    for (words, problem) in [
      (["--control", "0.0.0.0:80"], "'0.0.0.0' is not allowed"),
      (["--control", "example.com:80"], "'example.com' is not allowed"),
      (["--ports", "10-5"], "not a range LOW-HIGH"),
      (["--log-level", "inform"], "did you mean 'info'?"),
      (["--config", folder.file("d.json")], "did you mean 'limits'?"),
      (["--config", folder.file("none.json")], "cannot be read"),
      (["--stop", "--status"], "cannot be combined"),
      (["now"], "unexpected argument"),
    ] {
      expectOneLine(try await Diorama.run(["serve", "--state", state] + words), status: 64, naming: problem)
    }
    #expect(!folder.has("state"))
    expectOneLine(
      try await Diorama.run("serve", "--stop", "--state", state), status: 69, naming: "no daemon runs for \(state)")
    #expect(try await Diorama.run("serve", "--help").text.contains("usage: diorama serve"))
  }

  @Test("fails if the port is taken, and leaves nothing behind")
  func takenPort() async throws {
    let (child, ready) = try await start()
    let address = try #require(ready["control"] as? String).dropFirst("http://".count)
    let outcome = try await Diorama.run(
      "serve", "--state", folder.file("other"), "--portserver-address", "", "--control", String(address))
    expectOneLine(outcome, status: 74, naming: String(address.suffix(5)))
    #expect(!folder.has("other/control.json"))
    child.send(SIGTERM)
    #expect(try await onThread { child.finish() }.status == 0)
  }
}
