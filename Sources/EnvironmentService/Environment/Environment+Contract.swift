import Basics
import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import Transforms
package import LaunchContract

extension Environment {
  /// The launch contract for an app that starts now.
  package var contract: LaunchContract {
    // Includes all changes so far and the number of the last one. The app polls for later changes.
    let (state, clock) = state.withLock { ($0.live.state, $0.live.state.clock) }
    changes.keepIfPossible()
    var contract = LaunchContract(
      environment: .init(id: id, name: specification.name), mode: state.mode.rawValue, clock: clock, seed: seed,
      toggles: state.toggles, defaults: specification.defaults, values: state.values)
    for upstream in upstreams { contract.endpoints[upstream.name] = "http://\(host):\(upstream.port)" }
    contract.ports = specification.ports.mapValues(Int.init)
    contract.credentials = specification.contractCredentials
    contract.control = .init(url: controlURL, token: token, revision: state.revision)
    contract.strings = strings(state.mode)
    return contract
  }

  /// How the app gets its random values: replayed from the recording, derived and reported to be recorded, or derived
  /// only.
  private func strings(_ mode: Mode) -> LaunchContract.Strings {
    switch mode {
    case .replay: LaunchContract.Strings(policy: .replay, entries: state.withLock { $0.ledger.contractEntries })
    case .record, .extend: LaunchContract.Strings(policy: .report)
    case .proxy, .mock, .once: LaunchContract.Strings(policy: .derive)
    }
  }

  /// Variables for programs in any language, without the contract itself.
  package var variables: [String: String] {
    var variables = [
      "DIORAMA_ENVIRONMENT": id,
      "DIORAMA_CONTROL": controlURL,
      "DIORAMA_TOKEN": token,
      "DIORAMA_MAIN": "http://\(host):\(mainPort)",
      "DIORAMA_PROXY": "http://\(host):\(mainPort)",
    ]
    for upstream in upstreams {
      variables["DIORAMA_ENDPOINT_" + Self.variableName(upstream.name)] = "http://\(host):\(upstream.port)"
    }
    for (variable, name) in specification.endpointVariables ?? [:] {
      variables[variable] = upstreams.first { $0.name == name }.map { "http://\(host):\($0.port)" }
    }
    for (name, port) in specification.ports {
      variables["DIORAMA_PORT_" + Self.variableName(name)] = String(port)
    }
    variables.merge(specification.resourceVariables) { $1 }
    // The command already has the machine's own time zone.
    if let zone = specification.clock.timeZone ?? replay?.header.timeZone { variables["TZ"] = zone }
    return variables
  }

  /// The name in upper case, with `_` for each character outside A-Z0-9.
  package static func variableName(_ name: String) -> String { EnvironmentConfiguration.variableName(name) }
}
