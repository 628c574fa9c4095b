package import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPServer
import HTTPMessages
import LaunchContract
import PortLeases

extension EnvironmentManager {
  /// Makes an environment, and keeps it before it says so.
  ///
  /// - Parameter request: the world that somebody asks for.
  /// - Returns: what answers from now on, with its contract.
  /// - Throws: a ``DaemonError``; nothing is left behind then.
  package func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment {
    noteUse()
    do throws(DaemonError) {
      // What was begun is finished, even when whoever asked has left: it would else be in nobody's hands.
      let result = await Task(executorPreference: workers) {
        [self] () async -> Result<ProvisionedEnvironment, DaemonError> in
        do throws(DaemonError) {
          return .success(try await make(request))
        } catch {
          return .failure(error)
        }
      }.value
      return try result.get()
    } catch {
      tally.change { $0.refused += 1 }
      // The detail is for who has asked: it may show what he wrote, such as a password in an upstream's URL.
      log.info("an environment was refused", ["status": .int(error.status), "reason": "\(error.title)"])
      throw error
    }
  }

  private func make(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment {
    if let cassette = request.cassette { try roots.check(cassette) }
    let now = Date()
    let lifetime = try Lifetime(owner: request.owner?.pid, seconds: request.ttlSeconds, now: now)
    let specification = try DaemonError.translating { () throws(EnvironmentError) in
      try EnvironmentSpecification(request.configuration, isChecked: true)
    }
    let id = UUID().uuidString.lowercased()
    let hosted = HostedEnvironment(id: id, name: specification.name, lifetime: lifetime, createdAt: now, store: store)
    let recording = specification.mayComeToRecord ? specification.cassette.map { ResolvedPath($0.base) } : nil
    try lifecycle.withLock { lifecycle throws(DaemonError) in
      try lifecycle.begin(id, hosted, name: specification.name, lifetime: lifetime, recording: recording)
    }
    do throws(DaemonError) {
      try fill(hosted, specification, names: request.configuration.ports, recording: recording)
    } catch {
      await undo(hosted)
      throw error
    }
    let isStopping = lifecycle.withLock { lifecycle in
      lifecycle.ready(id, isRecording: hosted.recording != nil)
      return lifecycle.isStopping
    }
    guard !isStopping else {
      _ = try await end(id, because: .stop, keepEmptyRecording: false)
      throw DaemonError(503, "The daemon is ending", "start it again with diorama serve, then provision")
    }
    tally.change { $0.provisioned += 1 }
    log.info("an environment is ready", ["environment": "\(id)", "name": "\(hosted.name)", "mode": "\(hosted.mode)"])
    return try describe(hosted, isEnding: false, withContract: true)
  }

  /// Ports, listeners, contract, store: in this order, so that it is complete before anybody is told.
  private func fill(
    _ hosted: HostedEnvironment, _ specification: EnvironmentSpecification, names: [String], recording: ResolvedPath?
  ) throws(DaemonError) {
    var specification = specification
    if !names.isEmpty {
      let leases = try DaemonError.translating { () throws(PortError) in
        try pool.lease(PortRequest(count: names.count, names: names, environment: hosted.id, holds: true))
      }
      for lease in leases { specification.ports[lease.name ?? ""] = lease.port }
    }
    let environment = try listening(for: hosted) { hooks throws(EnvironmentError) in
      try service.provision(specification, hooks: hooks)
    }
    hosted.attach(environment, recording: environment.mode.mayRecord ? recording : nil)
    hosted.attach(contract: try writeContract(of: environment))
    do throws(StoreError) {
      try hosted.save()
    } catch {
      tally.change { $0.storeFailures += 1 }
      throw DaemonError(error)
    }
  }

  /// Provisions with ports of the pool; where that has none, it is what the pool says that is told.
  private func listening(
    for hosted: HostedEnvironment, _ provision: (EnvironmentHooks) throws(EnvironmentError) -> Environment
  ) throws(DaemonError) -> Environment {
    let ports = EndpointPorts(server: server, pool: pool)
    let refusal = Guarded<PortError?>(nil)
    let hooks = hosting(of: hosted) { handler in
      do {
        return try ports.listen(for: hosted.id, handler: handler)
      } catch {
        refusal.withLock { $0 = error as? PortError }
        throw error
      }
    }
    do throws(EnvironmentError) {
      return try provision(hooks)
    } catch {
      throw refusal.withLock { $0 }.map { DaemonError($0) } ?? DaemonError(error)
    }
  }

  /// What of an environment the daemon takes part in.
  func hosting(
    of hosted: HostedEnvironment, listen: @escaping @Sendable (any RequestHandler) throws -> Listener
  ) -> EnvironmentHooks {
    var hooks = EnvironmentHooks()
    hooks.id = hosted.id
    // The environment holds this: it must not hold the environment in turn.
    hooks.listen = { [weak hosted] handler in
      let listener = try listen(handler)
      hosted?.attach(listener)
      return listener
    }
    hooks.changed = { [weak hosted, log, tally] () throws(EnvironmentError) in
      do throws(StoreError) {
        try hosted?.save()
      } catch {
        tally.change { $0.storeFailures += 1 }
        log.error("a change of an environment could not be stored", ["reason": "\(error)"])
        throw EnvironmentError(.cannotWrite, "\(error)")
      }
    }
    hooks.stateWaits = stateWaits
    hooks.noted = { [weak hosted, journal] entries in
      if let hosted { journal.add(entries, of: hosted) }
    }
    return hooks
  }

  /// - Returns: the absolute path of the file.
  func writeContract(of environment: Environment) throws(DaemonError) -> String {
    do throws(ContractError) {
      // With a control token in it, a contract that goes by an argument is always a file.
      return try ContractWriter.deliver(environment.contract, folder: contracts, by: .arguments).file ?? ""
    } catch {
      throw DaemonError(
        507, "The launch contract could not be written", "\(error)", kind: EnvironmentError.Kind.cannotWrite.name)
    }
  }

  /// Takes back all there is of an environment that came to nothing.
  func undo(_ hosted: HostedEnvironment) async {
    if let environment = hosted.environment {
      _ = await environment.end(grace: .zero, keepingEmptyRecording: false)
    }
    hosted.closeListeners()
    leaveNothing(of: hosted)
    lifecycle.withLock { $0.fail(hosted.id) }
    hosted.isOver.open()
  }

  /// What an environment has outside of itself goes: its ports, its contract, its place in the store.
  func leaveNothing(of hosted: HostedEnvironment) {
    if !hosted.contract.isEmpty { unlink(hosted.contract) }
    journal.flush()
    hosted.saveNothingMore()
    removeFromStore(hosted.id)
    // Last: whoever gets the ports next is not to meet anything of it.
    pool.release(environment: hosted.id)
  }
}

extension EnvironmentManager {
  /// Takes an environment out of the store, now or as soon as the store lets us: its secrets are to go with it, and it
  /// must not come back.
  func removeFromStore(_ id: String) {
    do throws(StoreError) {
      try store.remove(environment: id)
      unremoved.withLock { _ = $0.remove(id) }
    } catch {
      tally.change { $0.storeFailures += 1 }
      // Said once: it is tried again each second.
      guard unremoved.withLock({ $0.insert(id).inserted }) else { return }
      log.error("an environment could not be taken out of the store", ["environment": "\(id)", "reason": "\(error)"])
    }
  }
}

extension EnvironmentSpecification {
  /// Whether it records, or would if its cassette is not there yet.
  var mayComeToRecord: Bool { mode.mayRecord || (mode == .once && cassette?.exists == false) }
}
