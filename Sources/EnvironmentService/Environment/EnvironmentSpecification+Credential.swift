import Foundation
package import LaunchContract

extension EnvironmentSpecification.Credential: Codable {
  private enum CodingKeys: String, CodingKey {
    case service, account, group, secret
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      service: try container.decode(String.self, forKey: .service),
      account: try container.decode(String.self, forKey: .account),
      group: try container.decodeIfPresent(String.self, forKey: .group),
      secret: [UInt8](try container.decode(Data.self, forKey: .secret)))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(service, forKey: .service)
    try container.encode(account, forKey: .account)
    try container.encodeIfPresent(group, forKey: .group)
    try container.encode(Data(secret), forKey: .secret)
  }
}

extension EnvironmentSpecification.Credential {
  /// As a redactor takes it.
  var named: (name: String, secret: [UInt8]) { ("\(service)/\(account)", secret) }
}

extension EnvironmentSpecification {
  /// What the app's credential store is to hold, as the contract has it; nil for nothing.
  package var contractCredentials: LaunchContract.Credentials? {
    guard !credentials.isEmpty || !credentialFaults.isEmpty else { return nil }
    return LaunchContract.Credentials(
      items: credentials.map {
        .init(service: $0.service, account: $0.account, group: $0.group, secret: Data($0.secret))
      },
      faults: credentialFaults)
  }
}
