import Basics
package import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Fleet
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases

extension EnvironmentManager {
  /// Provisions an environment. It is stored before this returns.
  ///
  /// - Parameter request: the requested environment.
  /// - Returns: the environment with its contract.
  /// - Throws: ``DaemonError``; nothing is left behind then.
  package func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment {
    try await provision(request, for: nil)
  }

  /// Provisions an environment for a program on another machine, or on this one if `client` is nil.
  func provision(
    _ request: ProvisioningRequest, for client: String?
  ) async throws(DaemonError) -> ProvisionedEnvironment {
    noteUse()
    let id = UUID().uuidString.lowercased()
    do throws(DaemonError) {
      // Waits for resources only as long as the client does.
      let resources = try await leaseResources(request, for: id)
      // Runs to completion even if the client disconnects. Otherwise, nothing would end the environment.
      let result = await Task(executorPreference: workers) {
        [self] () async -> Result<ProvisionedEnvironment, DaemonError> in
        do throws(DaemonError) {
          return .success(try await make(id, request, resources, for: client))
        } catch {
          return .failure(error)
        }
      }.value
      return try result.get()
    } catch {
      if !request.configuration.resources.isEmpty { fleet?.end(id) }
      tally.change { $0.refused += 1 }
      // The detail is for the client only: it may quote the request, such as a password in an upstream's URL.
      log.info("environment refused", ["status": .int(error.status), "reason": "\(error.title)"])
      throw error
    }
  }

  private func make(
    _ id: String, _ request: ProvisioningRequest, _ resources: [String: LeasedResource]?, for client: String?
  ) async throws(DaemonError) -> ProvisionedEnvironment {
    if let cassette = request.cassette { try roots.check(cassette) }
    if let stubs = request.configuration.stubs { try roots.check(stubs, of: "stubs") }
    if let file = request.configuration.collections { try roots.check(file, of: "collections") }
    if let file = request.configuration.openapi { try roots.check(file, of: "openapi") }
    for file in request.configuration.proto { try roots.check(file, of: "proto") }
    for folder in request.configuration.protoPaths { try roots.check(folder, of: "protoPaths") }
    let now = Date()
    let lifetime = try Lifetime(owner: request.owner?.pid, seconds: request.ttlSeconds, now: now)
    var specification = try DaemonError.translating { () throws(CodedError) in
      try EnvironmentSpecification(request.configuration, isChecked: true)
    }
    specification.leased = resources
    let hosted = HostedEnvironment(
      id: id, name: specification.name, lifetime: lifetime, createdAt: now, client: client, store: store)
    let recording = specification.mayComeToRecord ? specification.cassette.map { ResolvedPath($0.base) } : nil
    try lifecycle.withLock { lifecycle throws(DaemonError) in
      try lifecycle.begin(
        id, hosted, name: specification.name, lifetime: lifetime, recording: recording, client: client)
    }
    do { try fill(hosted, specification, names: request.configuration.ports, recording: recording) } catch {
      await undo(hosted)
      throw error
    }
    let isStopping = lifecycle.withLock { lifecycle in
      lifecycle.ready(id, isRecording: hosted.recording != nil)
      return lifecycle.isStopping
    }
    guard !isStopping else {
      _ = try await end(id, because: .stop)
      throw DaemonError(503, "Daemon is stopping", "start it again with diorama serve, then provision again")
    }
    tally.change { $0.provisioned += 1 }
    if let fleet { fleet.history?.began(FleetRun(hosted, host: fleet.host)) }
    log.info("environment ready", ["environment": "\(id)", "name": "\(hosted.name)", "mode": "\(hosted.mode)"])
    return try describe(hosted, isEnding: false, withContract: true)
  }

  /// Reserves ports, provisions, writes the contract and stores the environment, in this order.
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
    let environment = try listening(for: hosted) { hooks throws(CodedError) in
      try service.provision(specification, hooks: hooks)
    }
    hosted.attach(environment, recording: environment.mode.mayRecord ? recording : nil)
    hosted.attach(contract: try writeContract(of: environment))
    do { try hosted.save() } catch {
      tally.change { $0.storeFailures += 1 }
      throw DaemonError(ofStore: error)
    }
  }

  /// Provisions with ports of the pool. If the pool is the reason for a failure, throws the pool's error.
  private func listening(
    for hosted: HostedEnvironment, _ provision: (EnvironmentHooks) throws(CodedError) -> Environment
  ) throws(DaemonError) -> Environment {
    var ports = EndpointPorts(server: server, pool: pool)
    if hosted.client != nil, let listen = configuration.listen { ports.host = listen.host }
    let refusal = Guarded<PortError?>(nil)
    let hooks = hosting(of: hosted) { [ports] port in
      do {
        return try ports.reserve(port, for: hosted.id)
      } catch {
        refusal.withLock { $0 = error as? PortError }
        throw error
      }
    }
    do { return try provision(hooks) } catch {
      throw refusal.withLock { $0 }.map { DaemonError($0) } ?? DaemonError(error)
    }
  }

  /// The environment's connections to the daemon.
  func hosting(
    of hosted: HostedEnvironment, reserve: @escaping @Sendable (UInt16?) throws -> ReservedListener
  ) -> EnvironmentHooks {
    var hooks = EnvironmentHooks()
    hooks.id = hosted.id
    hooks.reserve = reserve
    if hosted.client != nil, let host = configuration.remoteHost { hooks.host = host }
    // Weak, since the environment retains these hooks.
    hooks.changed = { [weak hosted, log, tally] () throws(CodedError) in
      do { try hosted?.save() } catch {
        tally.change { $0.storeFailures += 1 }
        log.error("cannot store a change of an environment", ["reason": "\(error)"])
        throw CodedError(.cannotWrite, "\(error)")
      }
    }
    hooks.stateWaits = stateWaits
    hooks.noted = { [weak hosted, journal, history = fleet?.history] entries in
      guard let hosted else { return }
      journal.add(entries, of: hosted)
      history?.add(entries, of: hosted.id)
    }
    return hooks
  }

  /// - Returns: the absolute path of the file.
  func writeContract(of environment: Environment) throws(DaemonError) -> String {
    do {
      // With a control token in it, a contract passed by argument is always a file.
      return try ContractWriter.deliver(environment.contract, folder: contracts, by: .arguments).file ?? ""
    } catch {
      throw DaemonError(
        507, "Launch contract not written", "\(error)", kind: CodedError.Kind.cannotWrite.name)
    }
  }

  /// Removes all traces of an environment that could not be provisioned.
  func undo(_ hosted: HostedEnvironment) async {
    if let environment = hosted.environment {
      _ = await environment.end(grace: .zero)
    }
    leaveNothing(of: hosted)
    lifecycle.withLock { $0.fail(hosted.id) }
    hosted.isOver.withLock { $0 = true }
  }

  /// Removes the contract, the stored record and the ports of an environment.
  func leaveNothing(of hosted: HostedEnvironment) {
    if !hosted.contract.isEmpty { unlink(hosted.contract) }
    journal.flush()
    hosted.saveNothingMore()
    removeFromStore(hosted.id)
    if hosted.environment?.specification.holdsResources == true { fleet?.end(hosted.id) }
    // Last, so that the next owner of the ports finds no trace of the environment.
    pool.release(environment: hosted.id)
  }
}

extension EnvironmentManager {
  /// Removes an environment from the store, now or as soon as the store allows. Its secrets must go, and it must not be
  /// restored.
  func removeFromStore(_ id: String) {
    do {
      try store.remove(environment: id)
      unremoved.withLock { _ = $0.remove(id) }
    } catch {
      tally.change { $0.storeFailures += 1 }
      // Logged once; the removal is retried every second.
      guard unremoved.withLock({ $0.insert(id).inserted }) else { return }
      log.error("cannot remove an environment from the store", ["environment": "\(id)", "reason": "\(error)"])
    }
  }
}

extension EnvironmentSpecification {
  /// Whether it records, or will if its cassette doesn't exist yet.
  var mayComeToRecord: Bool { mode.mayRecord || (mode == .once && cassette?.exists == false) }
}

extension EnvironmentManager {
  /// Restores the state of the last daemon: leases first, then the ports of all environments, then each environment.
  /// Call it once, before the first request.
  ///
  /// An environment that can't be restored is ended, with the reason in its report and in the log.
  ///
  /// - Throws: ``CodedError`` if the store can't be read, is damaged, or was written by a newer version. Nothing has
  ///   changed then.
  package func restore() async throws {
    try await withTaskExecutorPreference(workers) { try await bringBack() }
  }

  private func bringBack() async throws {
    let stored = try store.load()
    for environment in stored.environments {
      try checkWhole(environment.document, "environment \(environment.id)")
      if let traffic = environment.traffic { try checkWhole(traffic, "environment \(environment.id)") }
      try EnvironmentRecord.check(environment)
    }
    for lease in stored.leases { try checkWhole(lease, "a lease") }
    var records: [(id: String, record: EnvironmentRecord)] = []
    for environment in stored.environments {
      do {
        var record = try JSON.decode(
          EnvironmentRecord.self, from: environment.document, source: "the store")
        if let traffic = environment.traffic {
          record.snapshot.take(try JSONDecoder().decode(EnvironmentTraffic.self, from: traffic))
        }
        // Entries lost by a kill leave no gap: their numbers are used again.
        record.snapshot.lastJournalNumber = environment.lastEntry
        records.append((environment.id, record))
      } catch {
        lose(environment.id, nil, because: "its stored record cannot be read: \(error)")
      }
    }
    try restoreLeases(stored.leases, environments: Set(records.map(\.id)))
    var reserved: [String: [ReservedListener]] = [:]
    for (id, record) in records where record.state == .ready {
      do {
        guard record.client == nil || configuration.listen != nil else {
          throw CodedError(
            .usage,
            "it belongs to a program on another machine, for which the daemon does not listen any more; "
              + "start it with --listen")
        }
        let host = record.client == nil ? "127.0.0.1" : configuration.listen?.host ?? "127.0.0.1"
        reserved[id] = try record.snapshot.ports.map { try server.reserve($0, on: host) }
      } catch {
        lose(id, record, because: "\(error)")
      }
    }
    for (id, record) in records {
      if record.state != .ready {
        finishEnd(id, record)
      } else if let ports = reserved[id] {
        do { try bringBack(id, record, ports: ports) } catch {
          for port in ports { port.close() }
          lose(id, record, because: error.detail)
        }
      }
    }
    removeOtherContracts()
  }

  /// Refuses a record that isn't JSON. Ending the environment instead would remove its contract, too.
  private func checkWhole(_ document: Data, _ what: String) throws(CodedError) {
    guard (try? JSONSerialization.jsonObject(with: document, options: .fragmentsAllowed)) == nil else { return }
    let folder = (contracts as NSString).deletingLastPathComponent
    throw CodedError(
      .broken,
      "the daemon's state in '\(folder)' is damaged: the record of \(what) is not JSON; restore the folder from a "
        + "backup, or start without it: mv '\(folder)' '\(folder).damaged'")
  }

  private func restoreLeases(_ documents: [Data], environments: Set<String>) throws {
    let leases = documents.compactMap { try? JSONDecoder().decode(PortLease.self, from: $0) }
    if leases.count < documents.count {
      log.error("cannot read stored leases", ["leases": .int(documents.count - leases.count)])
    }
    // The daemon was killed while it provisioned them, so no client knows of them.
    let left = leases.filter { $0.environment.map { !environments.contains($0) } ?? false }
    if !left.isEmpty { try store.remove(leases: left.map(\.port)) }
    pool.restore(leases.filter { !left.contains($0) })
    if !leases.isEmpty { log.info("leases restored", ["leases": .int(leases.count - left.count)]) }
  }

  private func bringBack(_ id: String, _ record: EnvironmentRecord, ports: [ReservedListener]) throws(DaemonError) {
    let hosted = HostedEnvironment(
      id: id, name: record.name, lifetime: record.lifetime, createdAt: record.createdAt, client: record.client,
      store: store)
    let recording = record.recording.map { ResolvedPath($0) }
    try lifecycle.withLock { lifecycle throws(DaemonError) in
      try lifecycle.begin(
        id, hosted, name: record.name, lifetime: record.lifetime, recording: recording, isRestored: true,
        client: record.client)
    }
    do {
      let left = Guarded(ports)
      let hooks = hosting(of: hosted) { fixed in
        let port = left.withLock { left -> ReservedListener? in
          let index = fixed.map { fixed in left.firstIndex { $0.port == fixed } } ?? left.indices.first
          return index.map { left.remove(at: $0) }
        }
        guard let port else {
          throw CodedError(
            "the environment had \(ports.count) ports and now needs more", at: "its cassette",
            next: "provision another environment")
        }
        return port
      }
      let environment = try DaemonError.translating { () throws(CodedError) in
        try service.provision(record.snapshot.specification, hooks: hooks, restoring: record.snapshot)
      }
      hosted.attach(environment, recording: recording)
      // Apps that start later read the file, too.
      let isThere = access(record.contract, R_OK) == 0
      hosted.attach(contract: isThere ? record.contract : try writeContract(of: environment))
    } catch {
      hosted.environment?.stopListening()
      lifecycle.withLock { $0.fail(id) }
      throw error
    }
    lifecycle.withLock { $0.ready(id, isRecording: recording != nil) }
    tally.change { $0.restored += 1 }
    log.info("environment restored", ["environment": "\(id)", "name": "\(record.name)"])
  }

  /// Completes an end that a kill interrupted: seals the recording and removes the rest.
  private func finishEnd(_ id: String, _ record: EnvironmentRecord) {
    let killed = "the daemon was killed while the environment was ending"
    guard let location = record.recording.map({ CassetteLocation($0) }) else {
      return forget(id, record, .request, because: killed)
    }
    do {
      let outcome = try CassetteRecovery.complete(location, aside: record.state == .failing)
      // There is nothing to seal if the kill came after sealing, or if nothing was recorded.
      let isSealed = outcome != nil || location.exists
      let recording = outcome.flatMap { outcome -> Report.Recording? in
        guard outcome.isWritten else { return nil }
        guard let aside = outcome.aside else { return .init(outcome: .written, interactions: outcome.interactions) }
        return .init(outcome: .aside, interactions: outcome.interactions, file: aside.har)
      }
      let fate = outcome?.aside.map { "its recording was kept as \($0.har)" } ?? "its recording was saved"
      forget(id, record, .request, recording, because: "\(killed); \(isSealed ? fate : "nothing was recorded")")
    } catch {
      log.error("cannot save a recording", ["environment": "\(id)", "reason": "\(error)"])
      // The partial files stay beside the cassette for the next recording, or for `cassette check --recover`.
      forget(
        id, record, .request, .unsealed,
        because: "\(killed), and its recording could not be saved (\(error.message)); recover it with: "
          + "diorama cassette check --recover \(location.base)")
    }
  }

  private func lose(_ id: String, _ record: EnvironmentRecord?, because reason: String) {
    log.error("cannot restore an environment", ["environment": "\(id)", "reason": "\(reason)"])
    forget(id, record, .lost, because: "it could not be restored after a restart of the daemon: \(reason)")
  }

  private func forget(
    _ id: String, _ record: EnvironmentRecord?, _ cause: EndCause, _ recording: Report.Recording? = nil,
    because reason: String
  ) {
    if let record { unlink(record.contract) }
    removeFromStore(id)
    pool.release(environment: id)
    let report = Report(
      ended: id, name: record?.name ?? "", mode: record?.snapshot.specification.mode.rawValue ?? "",
      cassette: record?.snapshot.specification.cassette?.har, recording: recording,
      because: reason)
    let bytes = (try? JSON.encode(report)).map(Array.init) ?? []
    lifecycle.withLock { $0.lost(id, because: cause, report: bytes, of: record?.client) }
  }

  /// Removes contracts of environments that were never reported as ready.
  private func removeOtherContracts() {
    let kept = Set(lifecycle.withLock { $0.all.map(\.hosted) }.map(\.contract))
    for name in (try? FileManager.default.contentsOfDirectory(atPath: contracts)) ?? [] {
      let path = "\(contracts)/\(name)"
      if !kept.contains(path) { unlink(path) }
    }
  }
}
