import Basics
import Foundation
import TestSupport
import Testing

@testable import Isolation

@Suite("The probe of the isolation")
struct IsolationProbeTests {
  @Test("each line is a step")
  func lines() throws {
    let output = """
      user namespace: ok
      /proc: failed: mount /proc: Operation not permitted; in a container, add the option --privileged
      nftables rule: failed: netlink: nftables: table, chain and rule with tproxy: No such file or directory; load: it; now
      low ports: not tried, because it needs: /proc

      """
    let probe = try IsolationProbe(output: output, of: "/helper")
    #expect(
      probe.steps == [
        .init(name: "user namespace", result: .works),
        .init(
          name: "/proc",
          result: .failed(
            call: "mount /proc", message: "Operation not permitted",
            advice: "in a container, add the option --privileged")),
        .init(
          name: "nftables rule",
          result: .failed(
            call: "netlink: nftables: table, chain and rule with tproxy", message: "No such file or directory",
            advice: "load: it; now")),
        .init(name: "low ports", result: .notTried(needs: "/proc")),
      ])
    #expect(!probe.works && probe.problems.count == 2)
    #expect(try IsolationProbe(output: "a: ok\nb: ok\n", of: "/helper").works)
  }

  @Test("other output is an error", arguments: ["", "hello", "a: okay", "a: failed: b", "usage: diorama-isolate"])
  func unknown(output: String) throws {
    let error = try #require(throws: CodedError.self) { try IsolationProbe(output: output, of: "/helper") }
    #expect(error.message.contains("/helper"))
  }

  @Test("each advice becomes commands")
  func remedies() {
    let cases: [(String, [String])] = [
      ("set sysctl user.max_net_namespaces=10000", ["sudo sysctl -w user.max_net_namespaces=10000"]),
      ("set sysctl kernel.unprivileged_userns_clone=1", ["sudo sysctl -w kernel.unprivileged_userns_clone=1"]),
      ("load the kernel module veth", ["sudo modprobe -a veth"]),
      (
        "load the kernel modules nf_tables and nft_tproxy (CONFIG_NF_TABLES_INET, CONFIG_NFT_TPROXY)",
        ["sudo modprobe -a nf_tables nft_tproxy"]
      ),
      (
        "in a container, add the options --security-opt seccomp=unconfined --security-opt apparmor=unconfined (Docker, "
          + "Podman), or --privileged",
        ["docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …"]
      ),
      ("in a container, add the option --cap-add SETFCAP (root needs it)", ["docker run --cap-add SETFCAP …"]),
      ("in a container, add the option --privileged; otherwise run as root", ["docker run --privileged …"]),
      ("mount /proc (mount -t proc proc /proc)", ["sudo mount -t proc proc /proc"]),
      ("see the manual page of the system call", []),
    ]
    for (advice, lines) in cases { #expect(IsolationProbe.remedy(for: advice, helper: "/h") == lines) }
    let profile = IsolationProbe.remedy(
      for: "add an AppArmor profile with 'userns,' for diorama-isolate, or set sysctl "
        + "kernel.apparmor_restrict_unprivileged_userns=0", helper: "/opt/my helper")
    #expect(profile.contains("profile diorama-isolate \"/opt/my helper\" flags=(unconfined) {"))
    #expect(profile.contains("  userns,") && profile.last == "sudo apparmor_parser -r /etc/apparmor.d/diorama-isolate")
  }

  @Test("a limit of the kernel is reported with its remedy", .needsNamespaces)
  func limit() async throws {
    let folder = try Folder()
    let helper = try folder.limitedHelper("net")
    let probe = try await onThread { try IsolationProbe(helper) }
    #expect(
      probe.problems == [
        "network namespaces: unshare(CLONE_NEWNET): No space left on device; set sysctl user.max_net_namespaces=10000"
      ])
    #expect(probe.remedies(for: helper.path) == ["sudo sysctl -w user.max_net_namespaces=10000"])
    // In the network of the caller, root would change the setting of the machine.
    #expect(probe.steps.contains(.init(name: "low ports", result: .notTried(needs: "network namespaces"))))
  }

  @Test("the helper is named by the variable, beside the program, or in libexec")
  func places() throws {
    let folder = try Folder()
    func find(_ variables: [String: String] = [:]) throws -> String {
      try IsolationHelper(variables: variables, program: folder.file("bin/diorama")).path
    }
    let error = try #require(throws: CodedError.self) { try find() }
    for words in [folder.file("bin"), folder.file("libexec"), "make install", "DIORAMA_ISOLATE_HELPER"] {
      #expect(error.message.contains(words), "\(error)")
    }
    #expect(error.kind == .noUpstream)
    try folder.writeScript("#!/bin/sh\n", to: "libexec/diorama-isolate")
    #expect(try find() == folder.file("libexec/diorama-isolate"))
    try folder.writeScript("#!/bin/sh\n", to: "bin/diorama-isolate")
    #expect(try find() == folder.file("bin/diorama-isolate"))
    try folder.writeScript("#!/bin/sh\n", to: "other")
    #expect(try find(["DIORAMA_ISOLATE_HELPER": folder.file("other")]) == folder.file("other"))
    let missing = try #require(throws: CodedError.self) { try find(["DIORAMA_ISOLATE_HELPER": folder.file("none")]) }
    #expect(missing.message.contains(folder.file("none")))
  }
}
