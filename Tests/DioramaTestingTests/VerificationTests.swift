import Basics
import DioramaTesting
import Foundation
import Testing

@Suite("Verification trait")
struct VerificationTests {
  private static let environments = Guarded<Set<String>>([])

  @Test("runs the test in an environment of its own each time", .environment(.mock, seed: "s"), .verified(runs: 5))
  func runs() throws {
    let environment = try TestEnvironment.current
    let id = try #require(try environment.launchEnvironment()["DIORAMA_ENVIRONMENT"])
    let count = Self.environments.withLock { all in
      #expect(all.insert(id).inserted)
      return all.count
    }
    #expect(count <= 5)
  }

  private static let starts = Guarded<Set<String>>([])

  @Test("begins all runs at the same time in mode mock", .environment(.mock), .verified(runs: 3))
  func start() throws {
    let contract = try #require(try TestEnvironment.current.launchEnvironment()["DIORAMA_CONTRACT"])
    let start = String(try #require(contract.firstMatch(of: /"start":"([^"]+)"/)).1)
    let count = Self.starts.withLock { all in
      all.insert(start)
      return all.count
    }
    #expect(count == 1)
  }

  private static let running = Guarded(0)

  @Test("runs the test once at a time", .environment(.mock), .verified(runs: 5, stress: true))
  func oneAtATime() async {
    let others = Self.running.withLock { running in
      running += 1
      return running - 1
    }
    #expect(others == 0)
    // Lets a run at the same time begin.
    for _ in 0..<1000 { await Task.yield() }
    Self.running.withLock { $0 -= 1 }
  }

  @Test("fails a test whose runs differ, with the difference and what to do about it")
  func difference() async throws {
    let (text, passed) = try await NestedRun.run("Samples/unequal\\(")
    #expect(!passed)
    #expect(text.contains("3 runs of the test differ"), "\(text)")
    #expect(text.contains("every run is different"), "\(text)")
    #expect(text.contains("first difference: standard output, line 1"), "\(text)")
    #expect(text.contains("looks like a random UUID"), "\(text)")
    #expect(text.contains(".verified(comparesOutput: false)"), "\(text)")
  }

  @Test("compares the bodies of requests")
  func requests() async throws {
    let folder = try Folder()
    let upstreams = #"[{"name":"clinic","origin":"https://clinic.example"}]"#
    let header = #"{"format":1,"recordedAt":"2018-10-08T09:00:00Z","seed":"s","upstreams":\#(upstreams)}"#
    let har = #"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[],"_diorama":\#(header)}}"#
    try Data(har.utf8).write(to: URL(fileURLWithPath: folder.file("empty.har")))
    let (text, passed) = try await NestedRun.run(
      "Samples/unequalRequests", values: ["CASSETTE": folder.file("empty.har")])
    #expect(!passed)
    #expect(text.contains("first difference: request 1, POST https://clinic.example/a, body $.id"), "\(text)")
  }

  @Test("reports once what fails in the same way in each run")
  func equalFailures() async throws {
    let (text, passed) = try await NestedRun.run("Samples/failing")
    #expect(!passed)
    #expect(text.components(separatedBy: "run of the test\n").count == 5, "\(text)")
    #expect(text.components(separatedBy: "recorded an issue").count == 2, "\(text)")
    #expect(!text.contains("differ"), "\(text)")
  }

  @Test("fails a test that ends its environment, since nothing is left to compare")
  func ended() async throws {
    let (text, passed) = try await NestedRun.run("Samples/ending")
    #expect(!passed)
    #expect(text.contains("the test ended its environment, so its runs were not compared"), "\(text)")
  }

  @Test("needs an environment, and a number of runs that ends")
  func usage() async throws {
    let without = try await NestedRun.run("Samples/withoutEnvironment")
    #expect(!without.passed)
    #expect(without.text.contains("give the test the trait .environment(…)"), "\(without.text)")
    let often = try await NestedRun.run("Samples/tooOften")
    #expect(!often.passed)
    #expect(often.text.contains("pass runs: from 2 to 100"), "\(often.text)")
  }
}
