import Transforms
package import ControlAPI
package import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases

extension EnvironmentManager {
  /// What runs, the oldest first, without contracts.
  package func environments() -> EnvironmentList {
    let all = lifecycle.withLock { $0.all }
    return EnvironmentList(
      environments: all.compactMap { try? describe($0.hosted, isEnding: $0.isEnding, withContract: false) })
  }

  /// One environment, with its contract.
  ///
  /// - Throws: a ``DaemonError``: 404 for one that never was, 410 for one that has ended.
  package func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment {
    let (hosted, isEnding) = try hosted(id)
    return try describe(hosted, isEnding: isEnding, withContract: true)
  }

  /// The report so far, or of one that has ended, as long as it is kept.
  ///
  /// - Throws: a ``DaemonError`` 404 for one that is not known any more.
  package func report(_ id: String) throws(DaemonError) -> Report {
    // One look: an environment that ends meanwhile has the one or the other.
    let (hosted, kept) = try lifecycle.withLock {
      lifecycle throws(DaemonError) -> (HostedEnvironment?, [UInt8]?) in
      if let kept = lifecycle.reports.report(id) { return (nil, kept) }
      return (try lifecycle.hosted(id).hosted, nil)
    }
    if let hosted { return try running(hosted).report() }
    do throws(ContractError) {
      return try ContractJSON.decode(Report.self, from: Data(kept ?? []), source: "the kept report")
    } catch {
      throw DaemonError(500, "The report cannot be read", "\(error)")
    }
  }

  func hosted(_ id: String) throws(DaemonError) -> (hosted: HostedEnvironment, isEnding: Bool) {
    try lifecycle.withLock { lifecycle throws(DaemonError) in try lifecycle.hosted(id) }
  }

  /// One that answers still.
  func ready(_ id: String) throws(DaemonError) -> Environment {
    let (hosted, isEnding) = try hosted(id)
    guard !isEnding else {
      throw DaemonError(409, "The environment is ending", "environment \(id) is ending; provision another one")
    }
    return try running(hosted)
  }

  func running(_ hosted: HostedEnvironment) throws(DaemonError) -> Environment {
    guard let environment = hosted.environment else {
      throw DaemonError(404, "There is no such environment", "environment \(hosted.id) is not there yet")
    }
    return environment
  }

  func describe(
    _ hosted: HostedEnvironment, isEnding: Bool, withContract: Bool
  ) throws(DaemonError) -> ProvisionedEnvironment {
    let environment = try running(hosted)
    return ProvisionedEnvironment(
      id: hosted.id, name: hosted.name, state: isEnding ? "ending" : "ready", mode: hosted.mode,
      cassette: environment.specification.cassette?.har, port: Int(environment.mainPort),
      endpoints: environment.upstreams.reduce(into: [:]) { $0[$1.name] = environment.endpoint($1.name) },
      ports: environment.specification.ports.mapValues(Int.init),
      owner: hosted.lifetime.owner.map { Owner(pid: $0.pid) }, createdAt: RFC3339.format(hosted.createdAt),
      endsAt: hosted.lifetime.endsAt.map(RFC3339.format), notes: environment.notes,
      contract: withContract ? try contract(of: environment, file: hosted.contract) : nil)
  }

  private func contract(
    of environment: Environment, file: String
  ) throws(DaemonError) -> ProvisionedEnvironment.Contract {
    var document = environment.contract
    let arguments = try DaemonError.translating { () throws(ContractError) in try document.launchArguments() }
    // Their place is the file, which its owner alone can read.
    document.credentials = nil
    var variables = environment.variables
    variables["DIORAMA_CONTRACT"] = "file:\(file)"
    return ProvisionedEnvironment.Contract(arguments: arguments, environment: variables, document: document)
  }
}
