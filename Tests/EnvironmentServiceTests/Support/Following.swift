import Basics
import Diorama
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport

@testable import EnvironmentService

/// An app in this process, launched with its own contract.
struct FollowingFixture: Sendable {
  let controls: AppControls
  private let said: Guarded<[String]>

  /// What it wrote to standard error.
  var warnings: [String] { said.withLock { $0 } }

  /// - Parameters:
  ///   - contract: its launch contract.
  ///   - warned: signalled by the first warning.
  ///   - patience: how long it waits for an environment that does not answer.
  /// - Throws: an error of the launch.
  init(_ contract: LaunchContract, warned: Event = Event(), patience: Patience = Patience()) async throws {
    let said = Guarded<[String]>([])
    let document = String(decoding: try contract.encodedDocument(), as: UTF8.self)
    self.said = said
    controls = try await onThread {
      try AppControls.launch(
        arguments: ["app"], environment: ["DIORAMA_CONTRACT": document], patience: patience
      ) { line in
        said.withLock { $0.append(line) }
        warned.happen()
      }
    }
  }
}

/// A program in any language that follows: one connection for each request.
struct PlainFollower: Sendable {
  let environment: Environment
  let name: String

  init(_ environment: Environment, _ name: String = "plain") {
    self.environment = environment
    self.name = name
  }

  /// Starts to follow, with everything so far as known.
  func appear() async throws {
    _ = try await state("after=\(try await state("").revision)")
  }

  func state(_ query: String) async throws -> LiveState {
    let who = query.isEmpty ? "" : "&follower=\(name)"
    let answer = try await environment.control("/state?\(query)\(who)", "", method: "GET")
    guard answer.status == 200 else { throw RawClient.Failure(description: "\(answer.status): \(answer.text)") }
    return try JSON.decode(LiveState.self, from: Data(answer.body), source: "")
  }

  /// - Returns: the status.
  @discardableResult
  func acknowledge(_ members: String) async throws -> Int {
    try await environment.control("/acknowledge", #"{"follower": "\#(name)", \#(members)}"#).status
  }

  /// A poll that waits, on a connection that the test can close.
  func ask(after revision: Int, watch: Int = 0) async throws -> RawClient {
    let client = try await onThread { [environment] in try RawClient(port: environment.mainPort) }
    let target = "/__diorama/state?after=\(revision)&wait=60&watch=\(watch)&follower=\(name)"
    try client.send(request("GET", target, environment.headers()))
    return client
  }
}

extension Environment {
  /// Returns once this many polls wait.
  func untilAsked(_ count: Int = 1) async throws {
    try await until { $0.polls.values.count { $0.answer != nil } >= count }
  }

  /// Checks the live link's state repeatedly, until the condition holds.
  func until(_ isSo: @Sendable (AppSync) -> Bool) async throws {
    for _ in 0..<120_000 {
      if live({ live, _ in isSo(live) }) { return }
      try await Task.sleep(for: .milliseconds(1))
    }
    throw RawClient.Failure(description: "what was waited for has not come in two minutes")
  }
}

let beginning = Date(timeIntervalSince1970: 1_538_989_200)

extension ServiceFixture {
  /// An environment with a manual clock.
  func manual(_ configure: (inout EnvironmentSpecification) -> Void = { _ in }) throws(CodedError) -> Environment {
    try provision(.mock) {
      $0.clock.kind = "manual"
      $0.clock.start = beginning
      configure(&$0)
    }
  }
}
