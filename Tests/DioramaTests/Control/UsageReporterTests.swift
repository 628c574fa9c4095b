import Basics
import Foundation
import LaunchContract
import Testing

@testable import Diorama

@Suite("Usage reports")
struct UsageReporterTests {
  private let warnings = Collected<String>()

  private func reporter(_ control: LaunchContract.Control, timeout: Duration = .seconds(20)) throws -> UsageReporter {
    var patience = Patience()
    patience.first = .zero
    return UsageReporter(try ControlConnection(control, timeout: timeout, patience: patience)) { [warnings] in
      warnings.add($0)
    }
  }

  private func reports(_ server: ControlServer) throws -> [UsageReport] {
    #expect(server.requests.allSatisfy { $0.path == "/__diorama/usage" })
    return try server.requests.map { try JSONDecoder().decode(UsageReport.self, from: $0.body) }
  }

  /// The union of all reports.
  private func total(_ server: ControlServer) throws -> [String: OrdinalRanges] {
    try reports(server).reduce(into: [:]) { total, report in
      total.merge(report.strings) { first, second in
        var both = first
        both.formUnion(second)
        return both
      }
    }
  }

  @Test("sends the first reading at once without blocking the app, and later readings together")
  func coalesced() throws {
    let arrived = DispatchSemaphore(value: 0)
    let answered = DispatchSemaphore(value: 0)
    try withControlServer({ _ in
      arrived.signal()
      answered.wait()
      return .noContent
    }) { server in
      let reporter = try reporter(server.control)
      reporter.didRead(key: "email", ordinal: 0)
      // The report was sent without a flush, and the response has not been sent yet.
      #expect(arrived.wait(timeout: .now() + 60) == .success)
      for ordinal in 1..<1_000 {
        reporter.didRead(key: "email", ordinal: ordinal)
        reporter.didRead(key: "age", ordinal: ordinal ^ 1)
        reporter.didRead(toggle: "skip", value: .bool(ordinal == 1))
      }
      for _ in 0..<2 { answered.signal() }
      reporter.flush()
      #expect(
        try reports(server) == [
          UsageReport(strings: ["email": .init([0...0])]),
          UsageReport(
            toggles: ["skip": .bool(true)], strings: ["email": .init([1...999]), "age": .init([0...0, 2...999])]),
        ])
    }
    #expect(warnings.values == [])
  }

  @Test("sends readings made while a message is being sent, without a flush")
  func background() throws {
    let arrived = DispatchSemaphore(value: 0)
    try withControlServer({ _ in
      arrived.signal()
      return .noContent
    }) { server in
      let reporter = try reporter(server.control)
      for ordinal in 0..<3 {
        reporter.didRead(key: "email", ordinal: ordinal)
        #expect(arrived.wait(timeout: .now() + 60) == .success)
      }
      #expect(try total(server) == ["email": .init([0...2])])
    }
  }

  @Test("reports a toggle once, with the value of its first reading")
  func toggles() throws {
    try withControlServer { server in
      let reporter = try reporter(server.control)
      for value in [true, false] {
        reporter.didRead(toggle: "skip", value: .bool(value))
        reporter.flush()
      }
      #expect(try reports(server) == [UsageReport(toggles: ["skip": .bool(true)])])
    }
  }

  @Test("reports all readings of sixteen threads")
  func threads() throws {
    try withControlServer { server in
      let reporter = try reporter(server.control)
      DispatchQueue.concurrentPerform(iterations: 16) { thread in
        for turn in 0..<500 {
          reporter.didRead(key: "shared", ordinal: turn * 16 + thread)
          reporter.didRead(key: "own \(thread)", ordinal: turn)
        }
      }
      reporter.flush()
      let total = try total(server)
      #expect(total["shared"] == .init([0...7_999]))
      #expect((0..<16).allSatisfy { total["own \($0)"] == .init([0...499]) })
    }
  }

  @Test("splits very many keys into messages that the environment accepts")
  func many() throws {
    try withControlServer { server in
      let reporter = try reporter(server.control)
      for key in 0..<10_000 { reporter.didRead(key: "key \(key)", ordinal: 0) }
      reporter.flush()
      #expect(try total(server).count == 10_000)
      #expect(server.requests.allSatisfy { $0.body.count < 1 << 20 })
      #expect(server.requests.count >= 5)
    }
  }

  @Test("warns once when the environment is gone, and does not fail")
  func gone() throws {
    let server = try ControlServer { _ in nil }
    server.stop()
    let reporter = try reporter(server.control)
    for ordinal in 0..<3 {
      reporter.didRead(key: "email", ordinal: ordinal)
      reporter.flush()
    }
    #expect(warnings.values.count == 1)
    #expect(warnings.values.first?.contains("could not report") == true)
  }

  @Test("does not warn while the environment may come back, and reports then")
  func away() throws {
    let turns = Collected<Int>()
    try withControlServer({ _ in
      turns.add(0)
      // The first report makes the environment known; then it does not respond for a while.
      return turns.values.count == 1 || turns.values.count > 3
        ? .init(bytes: ControlServer.Answer.noContent.bytes, closes: true) : nil
    }) { server in
      let address = try ControlAddress(server.control)
      let reporter = UsageReporter(ControlConnection(address, waitsForReturn: false)) { [warnings] in warnings.add($0) }
      for ordinal in 0..<4 {
        reporter.didRead(key: "email", ordinal: ordinal)
        while turns.values.count <= ordinal { reporter.flush() }
      }
      reporter.flush()
      #expect(try total(server)["email"] == .init([0...3]))
    }
    #expect(warnings.values == [])
  }

  @Test("repeats a failed report later")
  func later() throws {
    let refusals = Collected<Int>()
    try withControlServer({ _ in
      guard refusals.values.isEmpty else { return .noContent }
      refusals.add(1)
      return .json(503, "{}")
    }) { server in
      let reporter = try reporter(server.control)
      reporter.didRead(key: "email", ordinal: 0)
      reporter.didRead(toggle: "skip", value: .bool(true))
      reporter.flush()
      reporter.flush()
      #expect(try total(server)["email"] == .init([0...0]))
      #expect(try reports(server).last?.toggles == ["skip": .bool(true)])
    }
    #expect(warnings.values.count == 1)
  }

  @Test("sends pending readings at the process's exit")
  func exits() async throws {
    let server = try ControlServer(ControlServer.recording)
    defer { server.stop() }
    let url = server.control.url
    await #expect(processExitsWith: .success) { [url = url as String] in
      let reporter = UsageReporter(try ControlConnection(.init(url: url, token: "t0ken"))) { _ in }
      for ordinal in 0..<10_000 { reporter.didRead(key: "email", ordinal: ordinal) }
      exit(EXIT_SUCCESS)
    }
    #expect(try total(server) == ["email": .init([0...9_999])])
  }
}
