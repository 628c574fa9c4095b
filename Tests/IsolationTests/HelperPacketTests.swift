import Basics
import Testing

@testable import Isolation

@Suite("Packets of the isolation helper")
struct HelperPacketTests {
  @Test("a request is its fields, separated by null bytes")
  func requests() throws {
    let cases: [(HelperRequest, String)] = [
      (.argument(Array("a b".utf8)), "arg\0a b"), (.argument([]), "arg\0"),
      (.variable(Array("A=\n".utf8)), "env\0A=\n"),
      (.bind(source: "/a", target: "/b"), "bind\0/a\0/b"), (.setup, "setup\u{0}1"),
      (.supervisedNetwork(ports: []), "network\0seccomp\0"),
      (.supervisedNetwork(ports: [80, 5432]), "network\u{0}seccomp\u{0}80,5432"),
      (.clock, "clock\0optional"), (.random(seed: "s"), "random\0optional\0s"), (.preload("/l"), "preload\0/l"),
      (.start, "start"), (.socket(.tcp4), "socket\0tcp4"), (.socket(.tcp6), "socket\0tcp6"),
    ]
    for (request, packet) in cases { #expect(try request.encoded() == Array(packet.utf8)) }
    #expect(try HelperRequest.argument([0xFF, 0x0A]).encoded() == Array("arg".utf8) + [0, 0xFF, 0x0A])
  }

  @Test("a value that no program can get is refused, without showing a variable's value")
  func refusedValues() throws {
    let longest = [UInt8](repeating: 0x61, count: 131_071)
    #expect(try HelperRequest.argument(longest).encoded().count == 131_075)
    let cases: [(HelperRequest, String)] = [
      (.argument(longest + [0x61]), "the argument 'aaa"), (.argument(longest + [0x61]), "131072 bytes"),
      (.argument([0x61, 0]), "the argument 'a\\u{0}' contains a null byte"),
      (.variable(Array("TOKEN=secret".utf8) + longest), "the variable 'TOKEN' has 131083 bytes"),
      (.variable(Array("NAME".utf8)), "the variable 'NAME' has no '='"),
      (.bind(source: "/a", target: "b"), "mounting '/a' over 'b' is not an absolute path"),
    ]
    for (request, words) in cases {
      let error = try #require(throws: CodedError.self) { try request.encoded() }
      #expect(error.kind == .usage && error.message.contains(words) && !error.message.contains("secret"), "\(error)")
    }
  }

  @Test("replies are parsed")
  func replies() throws {
    let failure = HelperFailure(step: "routes", call: "netlink: a", error: 1, message: "m", advice: "do; this")
    let cases: [(String, HelperReply)] = [
      ("ready", .ready), ("socket", .socket), ("exited\u{0}3", .exited(3)), ("signaled\u{0}15", .signaled(15)),
      ("failed\0routes\0netlink: a\u{0}1\0m\0do; this", .failed(failure)),
      ("report\0ruby: it is static", .report("ruby: it is static")),
      ("clock\0unavailable\0routes\0netlink: a\u{0}1\0m\0do; this", .unavailable("clock", failure)),
      (
        "random\0unavailable\0vDSO",
        .unavailable("random", .init(step: "vDSO", call: "", error: 0, message: "", advice: ""))
      ),
      ("failed\0command\0cut", .failed(.init(step: "command", call: "cut", error: 0, message: "", advice: ""))),
    ]
    for (packet, reply) in cases { #expect(try HelperReply(Array(packet.utf8)) == reply) }
  }

  @Test(
    "an unknown reply is an error",
    arguments: ["", "clock\0x\0y", "random", "ready\0more", "exited", "exited\0x", "hello", "failed"])
  func unknownReplies(packet: String) throws {
    let error = try #require(throws: CodedError.self) { try HelperReply(Array(packet.utf8)) }
    #expect(error.kind == .noUpstream && error.message.contains("the same version"))
  }

  @Test("a failure names the step, the call and the advice, and a command's has the status of a shell")
  func failures() {
    let step = HelperFailure(
      step: "network namespaces", call: "unshare(CLONE_NEWNET)", error: 28, message: "No space left on device",
      advice: "set sysctl user.max_net_namespaces=10000")
    #expect(
      step.codedError.message
        == "cannot isolate the command: network namespaces: unshare(CLONE_NEWNET): No space left on device; "
        + "set sysctl user.max_net_namespaces=10000")
    #expect(step.codedError.kind == .noUpstream && step.shellStatus == nil)
    var command = HelperFailure(step: "command", call: "posix_spawnp x", error: 2, message: "no", advice: "look")
    #expect(command.codedError.message == "cannot run the command: posix_spawnp x: no; look")
    #expect(command.shellStatus == 127)
    command.error = 13
    #expect(command.shellStatus == 126)
    command.step = "working directory"
    #expect(command.shellStatus == 126)
  }
}
