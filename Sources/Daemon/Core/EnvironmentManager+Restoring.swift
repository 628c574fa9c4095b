import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases

extension EnvironmentManager {
  /// Brings back what was there before the daemon was killed: leases first, then all ports of environments, then one
  /// environment after the other; to be called once, before anybody can ask for anything.
  ///
  /// What cannot come back is ended, and says why in its report and in the log.
  ///
  /// - Throws: ``StoreError`` when the store cannot be read or is damaged, or a newer version has written it; nothing has
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
        var record = try ContractJSON.decode(
          EnvironmentRecord.self, from: environment.document, source: "the store")
        if let traffic = environment.traffic {
          record.snapshot.take(try JSONDecoder().decode(EnvironmentTraffic.self, from: traffic))
        }
        // Entries that a kill took away leave no gap: their numbers are given again.
        record.snapshot.lastJournalNumber = environment.lastEntry
        records.append((environment.id, record))
      } catch {
        lose(environment.id, nil, because: "what is stored of it cannot be read: \(error)")
      }
    }
    try restoreLeases(stored.leases, environments: Set(records.map(\.id)))
    var reserved: [String: ReservedPorts] = [:]
    for (id, record) in records where record.state == .ready {
      do {
        reserved[id] = try ReservedPorts(record.snapshot.ports, server: server)
      } catch {
        lose(id, record, because: "\(error)")
      }
    }
    for (id, record) in records {
      if record.state == .ending {
        finishEnd(id, record)
      } else if let ports = reserved[id] {
        do throws(DaemonError) {
          try bringBack(id, record, ports: ports)
        } catch {
          ports.close()
          lose(id, record, because: error.detail)
        }
      }
    }
    removeOtherContracts()
  }

  /// Refuses what no version has written: to end the environment for it would remove its contract, too.
  private func checkWhole(_ document: Data, _ what: String) throws(StoreError) {
    guard (try? JSONSerialization.jsonObject(with: document, options: .fragmentsAllowed)) == nil else { return }
    let folder = (contracts as NSString).deletingLastPathComponent
    throw StoreError(
      "the daemon's state in '\(folder)' is damaged: the record of \(what) is not JSON; restore that folder from a "
        + "backup, or start empty after: mv '\(folder)' '\(folder).damaged'", kind: .corrupt)
  }

  private func restoreLeases(_ documents: [Data], environments: Set<String>) throws {
    let leases = documents.compactMap { try? JSONDecoder().decode(PortLease.self, from: $0) }
    if leases.count < documents.count {
      log.error("leases in the store cannot be read", ["leases": .int(documents.count - leases.count)])
    }
    // Killed while it was being provisioned: nobody was told of it.
    let left = leases.filter { $0.environment.map { !environments.contains($0) } ?? false }
    if !left.isEmpty { try store.remove(leases: left.map(\.port)) }
    pool.restore(leases.filter { !left.contains($0) })
    if !leases.isEmpty { log.info("leases are back", ["leases": .int(leases.count - left.count)]) }
  }

  private func bringBack(_ id: String, _ record: EnvironmentRecord, ports: ReservedPorts) throws(DaemonError) {
    let hosted = HostedEnvironment(
      id: id, name: record.name, lifetime: record.lifetime, createdAt: record.createdAt, store: store)
    let recording = record.recording.map { ResolvedPath($0) }
    try lifecycle.withLock { lifecycle throws(DaemonError) in
      try lifecycle.begin(
        id, hosted, name: record.name, lifetime: record.lifetime, recording: recording, isRestored: true)
    }
    do throws(DaemonError) {
      let hooks = hosting(of: hosted) { try ports.listen(handler: $0) }
      let environment = try DaemonError.translating { () throws(EnvironmentError) in
        try service.provision(record.snapshot.specification, hooks: hooks, restoring: record.snapshot)
      }
      hosted.attach(environment, recording: recording)
      // Apps that start from now on read the file, too.
      let isThere = access(record.contract, R_OK) == 0
      hosted.attach(contract: isThere ? record.contract : try writeContract(of: environment))
    } catch {
      hosted.closeListeners()
      lifecycle.withLock { $0.fail(id) }
      throw error
    }
    lifecycle.withLock { $0.ready(id, isRecording: recording != nil) }
    tally.change { $0.restored += 1 }
    log.info("an environment is back", ["environment": "\(id)", "name": "\(record.name)"])
  }

  /// Its end had begun: what is left of it goes, and what it had recorded becomes the cassette.
  private func finishEnd(_ id: String, _ record: EnvironmentRecord) {
    let killed = "the daemon was killed while it ended"
    guard let location = record.recording.map({ CassetteLocation($0) }) else {
      return forget(id, record, .request, because: killed)
    }
    do throws(EnvironmentError) {
      let outcome = try CassetteRecovery.recover(location)
      // Nothing is left to seal of what had been sealed before the kill, and of a recording of nothing.
      let isSealed = outcome != nil || location.exists
      let recording = outcome.flatMap { $0.isWritten ? Report.Recording(written: $0.interactions) : nil }
      forget(
        id, record, .request, recording,
        because: "\(killed); \(isSealed ? "its recording is sealed" : "nothing was recorded")")
    } catch {
      log.error("a recording could not be sealed", ["environment": "\(id)", "reason": "\(error)"])
      // What is unfinished stays beside the cassette, for the next recording or for whoever asks for it.
      forget(
        id, record, .request, .unsealed,
        because: "\(killed), and its recording could not be sealed (\(error.message)); what was recorded is kept: "
          + "diorama cassette check --recover \(location.base)")
    }
  }

  private func lose(_ id: String, _ record: EnvironmentRecord?, because reason: String) {
    log.error("an environment could not come back", ["environment": "\(id)", "reason": "\(reason)"])
    forget(id, record, .lost, because: "it could not come back after a restart of the daemon: \(reason)")
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
    let bytes = (try? ContractJSON.encode(report)).map(Array.init) ?? []
    lifecycle.withLock { $0.lost(id, because: cause, report: bytes) }
  }

  /// Contracts of environments that were never acknowledged.
  private func removeOtherContracts() {
    let kept = Set(lifecycle.withLock { $0.all.map(\.hosted) }.map(\.contract))
    for name in (try? FileManager.default.contentsOfDirectory(atPath: contracts)) ?? [] {
      let path = "\(contracts)/\(name)"
      if !kept.contains(path) { unlink(path) }
    }
  }
}
