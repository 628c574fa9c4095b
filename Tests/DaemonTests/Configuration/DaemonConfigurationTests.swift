import Basics
import Foundation
import Testing

@testable import Daemon

@Suite("Daemon configuration")
struct DaemonConfigurationTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../Config")

  private static func read(_ text: String) throws -> DaemonConfiguration {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("diorama-\(UUID().uuidString).json")
    try Data(text.utf8).write(to: path)
    defer { try? FileManager.default.removeItem(at: path) }
    return try DaemonConfiguration(path: path.path)
  }

  @Test("has the defaults of Config/daemon.json")
  func defaults() throws {
    let file = try DaemonConfiguration(path: Self.folder.appendingPathComponent("daemon.json").path)
    #expect(file == DaemonConfiguration())
  }

  @Test("has all members in Config/daemon.json and its schema, with the same defaults")
  func schema() throws {
    func object(_ name: String) throws -> [String: Any] {
      let data = try Data(contentsOf: Self.folder.appendingPathComponent(name))
      return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
    func compare(_ file: [String: Any], _ properties: [String: Any]) throws {
      #expect(Set(file.keys) == Set(properties.keys))
      for (name, value) in file where name != "$schema" {
        let property = try #require(properties[name] as? [String: Any])
        if let inner = value as? [String: Any] {
          try compare(inner, try #require(property["properties"] as? [String: Any]))
        } else {
          #expect(property["default"] as? NSObject == value as? NSObject, "the default of \(name)")
        }
      }
    }
    let file = try object("daemon.json")
    try compare(file, try #require(try object("daemon.schema.json")["properties"] as? [String: Any]))
    // Encoding it produces the same members.
    let written = try JSONSerialization.jsonObject(with: JSONEncoder().encode(DaemonConfiguration())) as? [String: Any]
    #expect(Set(file.keys).subtracting(["$schema"]) == Set(try #require(written).keys))
  }

  @Test("uses defaults for missing members")
  func partial() throws {
    let configuration = try Self.read(
      #"{"limits": {"waits": 5}, "cassetteRoots": ["/a"], "control": "localhost:4010"}"#)
    var expected = DaemonConfiguration()
    expected.limits.waits = 5
    expected.cassetteRoots = ["/a"]
    expected.control = ControlAddress(port: 4010)
    #expect(configuration == expected)
  }

  @Test(
    "reports what is wrong, and where",
    arguments: [
      (#"{"limit": {}}"#, "limit: unknown member; did you mean 'limits'?"),
      (#"{"limits": {"wait": 1}}"#, "limits.wait: unknown member; did you mean 'waits'?"),
      (#"{"limits": {"environments": 0}}"#, "limits.environments: 0 is not between"),
      (#"{"limits": {"waitSeconds": -1}}"#, "limits.waitSeconds"),
      (#"{"control": "0.0.0.0:80"}"#, "'0.0.0.0' is not allowed"),
      (#"{"control": "127.0.0.1"}"#, "is not HOST:PORT"),
      (#"{"ports": "9-8"}"#, "is not a range LOW-HIGH"),
      (#"{"ports": "40000-30000"}"#, "is not a range LOW-HIGH"),
      (#"{"cassetteRoots": ["a"]}"#, "'a' is not an absolute path"),
      (#"{"cassetteRoots": ["/a/../b"]}"#, "without '..'"),
      (#"{"idleSeconds": 0}"#, "idleSeconds"),
      (#"{"logLevel": "loud"}"#, "'loud' is not one of trace, debug"),
      (#"{"ports": 5}"#, "ports: it is a whole number, not a string"),
      (#"{"#, "not valid JSON"),
      (#"[]"#, "it is an array"),
    ])
  func broken(text: String, said: String) throws {
    do {
      _ = try Self.read(text)
      Issue.record("no error for \(text)")
    } catch let error as CodedError {
      #expect(error.description.contains(said), "\(error)")
      #expect(!error.description.contains("\n"))
    }
  }

  @Test("reports a missing file")
  func missing() {
    #expect(
      throws: CodedError(
        .broken, "/nowhere/d.json: cannot be read: No such file or directory; choose another file with --config")
    ) {
      try DaemonConfiguration(path: "/nowhere/d.json")
    }
  }
}
