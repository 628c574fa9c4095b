package import Basics
import Foundation

/// The settings that the tags of a scenario stand for: a small form of what is to come, without checks of the keys.
package enum ScenarioTags {
  package static func configuration(from tags: [String]) throws(CodedError) -> EnvironmentConfiguration? {
    var members: [String: JSON] = [:]
    var toggles: [JSON.Member] = []
    var ports: [JSON] = []
    var faults: [JSON] = []
    var clock: [String: JSON] = [:]
    for tag in tags {
      let parts = tag.dropFirst().split(separator: ":", maxSplits: 1).map(String.init)
      let value = parts.count == 2 ? parts[1].removingPercentEncoding ?? parts[1] : ""
      switch parts[0] {
      case "manual": clock["kind"] = "manual"
      case _ where parts.count < 2: continue
      case "cassette", "mode", "seed", "stubs": members[parts[0]] = .string(value)
      case "frozen":
        var text = value
        if !text.contains("T") { text += "T00:00:00Z" }
        if text.wholeMatch(of: /.*T\d\d:\d\d(Z|[+-].*)/) != nil {
          text = text.replacing(/T(\d\d:\d\d)/) { "T\($0.output.1):00" }
        }
        clock["kind"] = clock["kind"] ?? "frozen"
        clock["start"] = .string(text)
      case "toggle":
        let pair = value.split(separator: "=", maxSplits: 1).map(String.init)
        toggles.append(.init(pair[0], pair.count == 2 ? JSON(argument: pair[1]) : .bool(true)))
      case "port": ports.append(.string(value))
      case "fault": faults.append(.string(value))
      default: continue
      }
    }
    if !toggles.isEmpty {
      members["toggles"] = .object(Dictionary(toggles.map { ($0.key, $0.value) }) { $1 })
    }
    if !ports.isEmpty { members["ports"] = .array(ports) }
    if !faults.isEmpty { members["faults"] = .array(faults) }
    if !clock.isEmpty { members["clock"] = .object(clock) }
    guard !members.isEmpty else { return nil }
    return try EnvironmentConfiguration(decoding: Data(JSON.object(members).encoded()), from: .caller)
  }
}
