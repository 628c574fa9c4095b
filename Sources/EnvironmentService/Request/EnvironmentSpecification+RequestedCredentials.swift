import Basics
import ControlAPI
import Foundation
import LaunchContract

extension EnvironmentSpecification {
  /// The secrets that a program gives.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault, and never a secret.
  static func credentials(_ request: [ControlAPI.Credential]) throws(CodedError) -> [Credential] {
    try RequestLimits.check(count: request.count, "credentials", limit: RequestLimits.credentials)
    var seen = Set<[String?]>()
    return try request.enumerated().map { index, item throws(CodedError) in
      let member = "credentials.\(index)"
      try RequestLimits.check(item.service, "\(member).service", limit: 1000)
      try RequestLimits.check(item.account, "\(member).account", limit: 1000)
      if let group = item.group { try RequestLimits.check(group, "\(member).group", limit: 1000) }
      guard seen.insert([item.service, item.account, item.group]).inserted else {
        throw RequestLimits.usage(member, "'\(item.service)/\(item.account)' is there twice")
      }
      let secret = try secret(item, member)
      guard secret.count <= RequestLimits.secret else {
        throw RequestLimits.usage(member, "its secret has \(secret.count) bytes, more than \(RequestLimits.secret)")
      }
      return Credential(service: item.service, account: item.account, group: item.group, secret: secret)
    }
  }

  private static func secret(_ item: ControlAPI.Credential, _ member: String) throws(CodedError) -> [UInt8] {
    switch (item.secret, item.text) {
    case (let secret?, nil):
      guard let data = Data(base64Encoded: secret.revealed) else {
        throw RequestLimits.usage("\(member).secret", "it is not base64; give plain text as \"text\" instead")
      }
      return [UInt8](data)
    case (nil, let text?): return Array(text.revealed.utf8)
    case (nil, nil): throw RequestLimits.usage(member, "it has no secret; give \"secret\" in base64, or \"text\"")
    case (_?, _?): throw RequestLimits.usage(member, "it has both \"secret\" and \"text\"; give one of them")
    }
  }

  /// The trouble that a program orders.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault.
  static func faults(
    _ request: [LaunchContract.Credentials.Fault]
  ) throws(CodedError) -> [LaunchContract.Credentials.Fault] {
    try RequestLimits.check(count: request.count, "credentialFaults", limit: RequestLimits.credentials)
    let always = ["locked", "missingEntitlement", "cancelled"]
    let once = ["failWrite", "failRead"]
    for (index, fault) in request.enumerated() {
      let member = "credentialFaults.\(index)"
      guard (always + once).contains(fault.fault) else {
        throw RequestLimits.usage(
          "\(member).fault", "'\(fault.fault.prefix(60))' is not one of \((always + once).joined(separator: ", "))")
      }
      guard always.contains(fault.fault) || (fault.nth ?? 0) >= 1 else {
        throw RequestLimits.usage("\(member).nth", "\(fault.fault) needs a number from 1: which call fails")
      }
      if let error = fault.error { try RequestLimits.check(error, "\(member).error") }
    }
    return request
  }
}
