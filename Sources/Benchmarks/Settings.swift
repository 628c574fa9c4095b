import Basics
import Foundation

/// The settings of a run, from environment variables. The Makefile has the defaults.
struct Settings {
  /// `BENCH_ROUNDS`: rounds with 32 connections; at most three with one connection.
  let rounds: Int
  /// `BENCH_SECONDS`: the length of a round.
  let seconds: Int
  /// `BENCH_SIZES`: interactions in the cassettes.
  let sizes: [Int]
  /// `DIORAMA_BIN`: the command under test; by default, the one built beside this program.
  let diorama: URL
  /// The first argument.
  let part: Part
  /// `--check`: whether to fail if a limit is missed.
  let check: Bool

  /// The available benchmarks.
  enum Part: String {
    /// Replay beside nginx.
    case replay
    /// The time to the first response with a large cassette.
    case opening
    /// Replay, proxying and recording beside all peers.
    case traffic
    /// Stubs beside WireMock.
    case mock
    /// Large texts beside nginx.
    case large
    /// The cost of an app's controls.
    case app
    /// The delay of a change in a running app's environment.
    case link
    /// The cost of environments in a daemon.
    case daemon
    /// Leases beside portpicker's portserver.
    case ports
    /// Isolated programs beside others.
    case isolation
    /// Leases and history of a fleet on PostgreSQL.
    case fleet
    /// The process started by `link`.
    case follow
    /// Programs started by `isolation`.
    case execute, clock
  }

  init(environment: [String: String], arguments: [String]) throws {
    func positive(_ name: String, _ text: String) throws -> Int {
      guard let number = Int(text), number > 0 else {
        throw CodedError(.inputOutput, "\(name) must be a number above 0, not \"\(text)\"")
      }
      return number
    }
    var words = arguments.dropFirst()
    guard let part = Part(rawValue: words.popFirst() ?? ""),
      part == .execute || words.allSatisfy({ $0 == "--check" })
    else {
      throw CodedError(
        .inputOutput,
        "usage: Benchmarks replay|opening|traffic|mock|large|app|link|daemon|ports|isolation|fleet [--check]")
    }
    self.part = part
    rounds = try positive("BENCH_ROUNDS", environment["BENCH_ROUNDS"] ?? "7")
    seconds = try positive("BENCH_SECONDS", environment["BENCH_SECONDS"] ?? "3")
    sizes = try (environment["BENCH_SIZES"] ?? "10,1000,100000").split(separator: ",").map {
      try positive("BENCH_SIZES", String($0))
    }
    let beside = URL(fileURLWithPath: arguments[0]).deletingLastPathComponent().appendingPathComponent("diorama")
    diorama = environment["DIORAMA_BIN"].map { URL(fileURLWithPath: $0) } ?? beside
    guard
      ![.replay, .opening, .traffic, .mock, .large, .daemon, .ports, .isolation, .fleet].contains(part)
        || FileManager.default.isExecutableFile(atPath: diorama.path)
    else {
      throw CodedError(.inputOutput, "no diorama at \(diorama.path); run make bench, or name it in DIORAMA_BIN")
    }
    check = words.contains("--check")
  }
}

/// A temporary folder.
struct Scratch {
  let folder: URL

  init(in parent: URL = FileManager.default.temporaryDirectory) throws {
    folder = parent.appendingPathComponent("diorama-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func file(_ name: String) -> URL {
    folder.appendingPathComponent(name)
  }

  func remove() {
    try? FileManager.default.removeItem(at: folder)
  }
}
