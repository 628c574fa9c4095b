import Foundation
import TestSupport
import Testing

@Suite("diorama doctor", .timeLimit(.minutes(5)))
struct DoctorTests {
  @Test("exits with 0 where namespaces work, and shows each check")
  func works() async throws {
    let doctor = try Doctor(probe: ["user namespace: ok", "PID namespace: ok"])
    let outcome = try await doctor.run()
    #expect(outcome.status == 0 && outcome.words.isEmpty, "\(outcome.words)")
    for words in [
      "namespaces: user namespace  ok\n", "namespaces: PID namespace   ok\n",
      "daemon                      ok: none is running", "ports                       ok: ",
      "state folder                ok: \(doctor.folder.file("daemon"))\n", "isolation: works by namespaces\n",
    ] { #expect(outcome.text.contains(words), "\(outcome.text)") }
    let document = try object(try await doctor.run("--json").text)
    let isolation = try #require(document["isolation"] as? [String: Any])
    #expect(isolation["namespaces"] as? Bool == true && isolation["proxy"] as? Bool == true)
    #expect(isolation["clock"] as? Bool == true)
    #expect(isolation["seccomp"] as? Bool == false && isolation["helper"] as? String == doctor.folder.file("helper"))
    #expect((document["daemon"] as? [String: Any])?["ok"] as? Bool == true)
  }

  @Test("says that the clock does not work, and what would allow it")
  func withoutClock() async throws {
    let advice = "in a container, add the option --security-opt seccomp=unconfined"
    let doctor = try Doctor(probe: [
      "user namespace: ok", "seccomp notification: failed: seccomp: Operation not permitted; \(advice)",
      "process memory: not tried, because it needs: seccomp notification",
    ])
    let outcome = try await doctor.run()
    #expect(outcome.status == 0, "\(outcome.words)")
    for words in [
      "isolation: works by namespaces, but programs keep the real clock and real random values\n",
      "to make the clock and random values work:\n  docker run --security-opt seccomp=unconfined",
    ] { #expect(outcome.text.contains(words), "\(outcome.text)") }
    let isolation = try #require(try object(try await doctor.run("--json").text)["isolation"] as? [String: Any])
    #expect(isolation["namespaces"] as? Bool == true && isolation["clock"] as? Bool == false)
  }

  @Test("exits with 1 where they do not, and prints what would allow them")
  func fails() async throws {
    let doctor = try Doctor(probe: [
      "user namespace: failed: clone(CLONE_NEWUSER): No space left on device; set sysctl user.max_user_namespaces=10000",
      "PID namespace: not tried, because it needs: user namespace",
    ])
    let outcome = try await doctor.run()
    #expect(outcome.status == 1 && outcome.words.isEmpty, "\(outcome.words)")
    for words in [
      "namespaces: user namespace  failed: clone(CLONE_NEWUSER): No space left on device; set sysctl",
      "namespaces: PID namespace   not tried, because it needs: user namespace\n",
      "isolation: works only by proxy variables",
      "\n  sudo sysctl -w user.max_user_namespaces=10000\n",
    ] { #expect(outcome.text.contains(words), "\(outcome.text)") }
    let printed = try await doctor.run("--json")
    #expect(printed.status == 1)
    let isolation = try #require(try object(printed.text)["isolation"] as? [String: Any])
    #expect(isolation["namespaces"] as? Bool == false)
    #expect(isolation["remedies"] as? [String] == ["sudo sysctl -w user.max_user_namespaces=10000"])
    let steps = try #require(isolation["steps"] as? [[String: String]])
    #expect(
      steps.dropLast() == [
        [
          "kind": "namespaces", "name": "user namespace", "result": "failed", "call": "clone(CLONE_NEWUSER)",
          "message": "No space left on device", "advice": "set sysctl user.max_user_namespaces=10000",
        ], ["kind": "namespaces", "name": "PID namespace", "result": "notTried", "needs": "user namespace"],
      ])
  }

  @Test("exits with 1 where only seccomp works, and says so")
  func seccomp() async throws {
    let doctor = try Doctor(
      probe: ["user namespace: failed: clone(CLONE_NEWUSER): No space left on device; set sysctl a.b=1"],
      seccomp: "connections: ok")
    let outcome = try await doctor.run()
    #expect(outcome.status == 1)
    for words in [
      "seccomp: connections        ok\n", "isolation: works by seccomp, not by namespaces", "sysctl -w a.b=1",
    ] {
      #expect(outcome.text.contains(words), "\(outcome.text)")
    }
    let isolation = try #require(try object(try await doctor.run("--json").text)["isolation"] as? [String: Any])
    #expect(isolation["namespaces"] as? Bool == false && isolation["seccomp"] as? Bool == true)
  }

  @Test("reports a helper that is missing, and state that cannot be used")
  func broken() async throws {
    let doctor = try Doctor(probe: [])
    try FileManager.default.createDirectory(atPath: doctor.folder.file("daemon"), withIntermediateDirectories: false)
    try doctor.folder.write("{", to: "daemon/control.json")
    let helper = doctor.folder.file("none")
    let outcome = try await Diorama.run(
      ["doctor", "--state", doctor.folder.file("daemon")], variables: ["DIORAMA_ISOLATE_HELPER": helper])
    #expect(outcome.status == 1 && outcome.words.isEmpty, "\(outcome.words)")
    #expect(outcome.text.contains("failed: no executable at '\(helper)'"), "\(outcome.text)")
    let daemon = "daemon        failed: cannot parse \(doctor.folder.file("daemon"))"
    #expect(outcome.text.contains(daemon), "\(outcome.text)")
    let folder = try await Diorama.run(
      ["doctor", "--state", "/dev/null/state"], variables: ["DIORAMA_ISOLATE_HELPER": helper])
    #expect(folder.text.contains("state folder  failed: /dev/null"), "\(folder.text)")
    // Nothing can be created there, although root has all permissions.
    let system = try await Diorama.run(
      ["doctor", "--state", "/proc/a/b"], variables: ["DIORAMA_ISOLATE_HELPER": helper])
    #if os(Linux)
      #expect(system.text.contains("state folder  failed: /proc/a/b cannot be created in /proc: "), "\(system.text)")
    #endif
  }
}

/// A folder with a helper that prints these lines.
private struct Doctor {
  let folder: Folder

  init(probe lines: [String], seccomp: String = "loopback sockets: failed: socket(AF_INET): No; advice") throws {
    folder = try Folder()
    let script = """
      #!/bin/sh
      test "$1" = --probe || exit
      test "$2" = seccomp && echo '\(seccomp)' && exit
      cat <<'END'
      \((lines + ["END"]).joined(separator: "\n"))

      """
    try folder.writeScript(script, to: "helper")
  }

  func run(_ options: String...) async throws -> Child.Outcome {
    try await Diorama.run(
      ["doctor"] + options,
      variables: ["DIORAMA_ISOLATE_HELPER": folder.file("helper"), "DIORAMA_HOME": folder.file("daemon")])
  }
}
