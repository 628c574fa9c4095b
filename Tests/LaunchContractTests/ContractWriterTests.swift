import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Delivering launch contracts")
final class ContractWriterTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "contract-\(UUID().uuidString)").path
  private var contract = LaunchContract(
    environment: .init(id: "e", name: "n"), mode: "replay", clock: .init(kind: .system), seed: "s")

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("puts a small contract into the environment")
  func inline() throws {
    let delivery = try ContractWriter.deliver(contract, folder: folder)
    #expect(delivery.file == nil)
    #expect(try LaunchContract.read(delivery.value, source: "test") == contract)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }

  @Test("writes a private file if there are credentials")
  func credentials() throws {
    contract.credentials = .init(items: [.init(service: "clinic", account: "token", secret: Data("x".utf8))])
    let delivery = try ContractWriter.deliver(contract, folder: folder)
    let file = try #require(delivery.file)
    #expect(delivery.value == "file:\(file)")
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try LaunchContract.read(delivery.value, source: "test") == contract)
  }

  @Test("writes a file if the document exceeds 32 KiB, and not before")
  func size() throws {
    let empty = try contract.encodedDocument().count
    let overhead = #""v":"""#.utf8.count
    contract.values["v"] = .string(String(repeating: "x", count: ContractWriter.inlineLimit - empty - overhead))
    #expect(try contract.encodedDocument().count == ContractWriter.inlineLimit)
    #expect(try ContractWriter.deliver(contract, folder: folder).file == nil)
    contract.values["v"] = .string(String(repeating: "x", count: ContractWriter.inlineLimit - empty - overhead + 1))
    let delivery = try ContractWriter.deliver(contract, folder: folder)
    #expect(delivery.file != nil)
    #expect(try LaunchContract.read(delivery.value, source: "test") == contract)
  }

  @Test("names a folder in which it cannot write")
  func noFolder() throws {
    contract.credentials = .init(items: [])
    let error = #expect(throws: CodedError.self) {
      try ContractWriter.deliver(contract, folder: "\(folder)/nowhere")
    }
    #expect(error?.place.hasPrefix("launch contract in \(folder)/nowhere/contract-") == true)
    #expect(error?.problem == "cannot be created: No such file or directory")
    #expect(throws: CodedError.self) { try ContractWriter.deliver(contract, folder: "relative") }
  }
}

@Suite("Toggles and user defaults as arguments")
struct LaunchArgumentsTests {
  private func arguments(
    toggles: [String: JSON] = [:], defaults: [String: JSON] = [:]
  ) throws -> [String] {
    try LaunchContract(
      environment: .init(id: "", name: ""), mode: "", clock: .init(kind: .system), seed: "s", toggles: toggles,
      defaults: defaults
    ).launchArguments()
  }

  @Test("are sorted pairs, toggles first, and a user default replaces a toggle with the same name")
  func order() throws {
    let words = try arguments(
      toggles: ["b": .bool(true), "a": .string("x y"), "same": .int(1)], defaults: ["same": .int(2), "d": .double(0.5)])
    #expect(
      words == ["-a", "x y", "-b", "<true/>", "-d", "<real>0.5</real>", "-same", "<integer>2</integer>"])
  }

  @Test(
    "never contain a value that would begin an option or be trimmed",
    arguments: ["-1", "--x", "", " x", "x\n", "{", "(", "[", "<", "\"", "\u{2003}x", "x\u{200B}"])
  func marked(_ text: String) throws {
    let words = try arguments(defaults: ["k": .string(text)])
    #expect(words.count == 2 && words[1].hasPrefix("<string>") && words[1].hasSuffix("</string>"))
  }

  @Test("omit toggles that cannot be expressed")
  func toggles() throws {
    let words = try arguments(
      toggles: [
        "none": .null, "inner": .array([.null]), "-dash": .bool(true), "": .bool(true),
        "object": .object(["$date": .string("no date, since toggles have none")]),
      ])
    #expect(
      words == [
        "-object", "<dict><key>$date</key><string>no date, since toggles have none</string></dict>",
      ])
  }

  @Test(
    "reject and name a user default that cannot be expressed",
    arguments: [
      (.null, "defaults.k: user defaults cannot hold null"),
      (.array([.int(1), .object(["a": .null])]), "defaults.k.1.a: user defaults cannot hold null"),
      (.object(["$date": .string("yesterday")]), "defaults.k.$date: expected an instant"),
      (.object(["$date": .int(0)]), "defaults.k.$date: expected an instant"),
      (.object(["$data": .string("no base64!")]), "defaults.k.$data: expected a Base64 string"),
      (.object(["$dictionary": .int(1)]), "defaults.k.$dictionary: expected an object"),
    ] as [(JSON, String)])
  func refused(_ value: JSON, _ problem: String) throws {
    let error = #expect(throws: CodedError.self) { try arguments(defaults: ["k": value]) }
    #expect(try #require(error).problem.hasPrefix(problem))
  }
}
