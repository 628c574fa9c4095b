import Cassettes
import Foundation
import LaunchContract
import PortLeases

extension PortLease {
  /// What the store keeps of it, for `JSONDecoder` to read.
  ///
  /// Not by `JSONEncoder`: every lease waits for it, and that takes longer than the store does.
  var document: Data {
    var members: [JSON.Member] = [
      .init("port", .number("\(port)")), .init("since", .number("\(since.timeIntervalSinceReferenceDate)")),
      .init("holds", .bool(holds)),
    ]
    if let name { members.append(.init("name", .string(name))) }
    if let owner {
      members.append(
        .init(
          "owner", .object([.init("pid", .number("\(owner.pid)")), .init("startTime", .number("\(owner.startTime)"))])))
    }
    if let environment { members.append(.init("environment", .string(environment))) }
    if let endsAt { members.append(.init("endsAt", .number("\(endsAt.timeIntervalSinceReferenceDate)"))) }
    return Data(JSON.object(members).encoded())
  }
}
