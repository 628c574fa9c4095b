package import Basics
import Cassettes
package import ControlAPI
package import EnvironmentConfiguration
import Foundation
import HTTPMessages

// Resources of the fleet's pools, such as test accounts. They are leased before the environment is provisioned, while
// requests will reach real backends; otherwise the recorded ones take their place.
extension EnvironmentSpecification {
  /// What must be leased before the environment is provisioned. An extension of a cassette needs the recorded ones.
  ///
  /// - Returns: nothing if no request will reach a real backend.
  /// - Throws: a ``CodedError`` if the mode or the cassette cannot be used.
  package func resourcesToLease() throws(CodedError) -> [String: ResourceQuery] {
    guard let resources, !resources.isEmpty, leased == nil else { return [:] }
    let mode = try Provisioning.resolve(self)
    guard mode.replays, let location = cassette, location.exists else { return mode.mayReachNetwork ? resources : [:] }
    let cassette = try CassetteCache().open(location).cassette
    let (rerecords, _) = try verdict(
      in: mode, recordedAt: cassette.header.recordedAt, now: .now,
      upstreams: cassette.knownUpstreams.map { ($0.name, $0.origin.description) })
    if rerecords { return resources }
    guard mode == .extend else { return [:] }
    var queries = resources
    for (label, recorded) in cassette.header.resources where queries[label]?.pool == recorded.pool {
      queries[label]?.attributes["name"] = recorded.name
    }
    return queries
  }

  /// The resources where none are leased: as recorded, with made-up secrets.
  func placeholders(_ recorded: CassetteHeader?) -> [String: LeasedResource] {
    var placeholders: [String: LeasedResource] = [:]
    for label in Set((resources ?? [:]).keys).union((recorded?.resources ?? [:]).keys) {
      let known = recorded?.resources[label]
      let query = resources?[label]
      var resource = LeasedResource(
        pool: known?.pool ?? query?.pool ?? "", name: known?.name ?? query?.attributes["name"] ?? label,
        attributes: known?.attributes ?? query?.attributes.filter { $0.key != "name" } ?? [:], fence: 0)
      resource.secrets = Dictionary(
        (known?.secrets ?? []).map { ($0, "diorama-\(label)-\($0)") }, uniquingKeysWith: { $1 })
      placeholders[label] = resource
    }
    return placeholders
  }

  /// Where the recorded resources are not those that are asked for, one line each.
  func resourceNotes(_ recorded: CassetteHeader?) -> [String] {
    (resources ?? [:]).sorted { $0.key < $1.key }.compactMap { label, query in
      guard let known = recorded?.resources[label] else {
        return "the recording has no resource '\(label)', so it is made up; record again to lease it"
      }
      let all = known.attributes.merging(["name": known.name]) { $1 }
      guard known.pool != query.pool || query.attributes.contains(where: { all[$0.key] != $0.value }) else {
        return nil
      }
      return
        "the resource '\(label)' of the recording, '\(known.name)' of pool '\(known.pool)', is not what is asked for; "
        + "record again to lease another"
    }
  }

  /// Whether it has leased resources, and not what was recorded of them.
  package var holdsResources: Bool { (leased ?? [:]).values.contains { $0.fence > 0 } }

  /// The leased resources, one line each, such as `patient = patients/anna, fence 4`; nil if it has none.
  package var heldResources: [String]? {
    guard holdsResources else { return nil }
    return (leased ?? [:]).sorted { $0.key < $1.key }.map {
      "\($0.key) = \($0.value.pool)/\($0.value.name), fence \($0.value.fence)"
    }
  }

  /// What the cassette keeps of the resources.
  var recordedResources: [String: CassetteHeader.Resource] {
    (leased ?? [:]).mapValues {
      CassetteHeader.Resource(
        pool: $0.pool, name: $0.name, attributes: $0.attributes, secrets: ($0.secrets ?? [:]).keys.sorted())
    }
  }

  /// The secrets of resources, as credentials: the service is the resource's name in the configuration, the account the
  /// secret's.
  var resourceCredentials: [Credential] {
    (leased ?? [:]).sorted { $0.key < $1.key }.flatMap { label, resource in
      (resource.secrets ?? [:]).sorted { $0.key < $1.key }.map {
        Credential(service: label, account: $0.key, secret: Array($0.value.utf8))
      }
    }
  }

  /// `DIORAMA_RESOURCE_PATIENT` has the resource's name, `DIORAMA_RESOURCE_PATIENT_PLAN` and
  /// `DIORAMA_RESOURCE_PATIENT_PASSWORD` have attributes and secrets.
  package var resourceVariables: [String: String] {
    var variables: [String: String] = [:]
    for (label, resource) in leased ?? [:] { variables.merge(resource.variables(label)) { $1 } }
    return variables
  }
}

extension LeasedResource {
  /// The variables with the resource's name, attributes and secrets.
  ///
  /// - Parameter label: its name in the configuration.
  /// - Returns: values by the names of variables.
  package func variables(_ label: String) -> [String: String] {
    let name = "DIORAMA_RESOURCE_" + EnvironmentConfiguration.variableName(label)
    var variables = [name: self.name]
    for (key, value) in attributes.merging(secrets ?? [:], uniquingKeysWith: { $1 }) {
      variables["\(name)_\(EnvironmentConfiguration.variableName(key))"] = value
    }
    return variables
  }
}
