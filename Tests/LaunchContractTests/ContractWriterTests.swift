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
    let error = #expect(throws: ContractError.self) {
      try ContractWriter.deliver(contract, folder: "\(folder)/nowhere")
    }
    #expect(error?.source.hasPrefix("\(folder)/nowhere/contract-") == true)
    #expect(error?.problem == "cannot be created: No such file or directory")
    #expect(throws: ContractError.self) { try ContractWriter.deliver(contract, folder: "relative") }
  }
}
