import Cassettes
import Diorama
import EnvironmentService
import Foundation
import LaunchContract

/// An environment in replay, and its contract where an app looks for one.
final class ReplayedEnvironment {
  /// What the clocks show.
  static let start = Date(timeIntervalSince1970: 1_538_989_200)

  private let service: EnvironmentService
  private let environment: Environment
  private let scratch: Scratch
  private let delivery: ContractWriter.Delivery

  /// - Parameter strings: how many e-mails the recording has.
  /// - Throws: what keeps an environment from being.
  init(strings: Int) throws {
    scratch = try Scratch()
    let cassette = try writeCassette(of: 10, in: scratch)
    let derivation = StringDerivation(seed: "bench")
    let alphabet = RandomStrings.lettersAndDigits
    let entries = try (0..<strings).map { ordinal in
      StringEntry(
        value: try derivation.string(key: "email", ordinal: ordinal, length: 12, alphabet: alphabet),
        parameters: .string(length: 12, alphabet: alphabet))
    }
    let store = StringStoreDocument(seed: "bench", entries: ["email": entries])
    try JSONEncoder().encode(store).write(to: cassette.appendingPathExtension("strings.json"))
    var specification = EnvironmentSpecification(name: "bench", mode: .replay)
    specification.cassette = CassetteLocation(cassette.path)
    specification.clock.start = Self.start
    specification.toggles = ["flag": .bool(true), "count": .int(7), "share": .double(0.5), "name": .string("blue")]
    service = try EnvironmentService(threads: 1)
    environment = try service.provision(specification)
    delivery = try ContractWriter.deliver(environment.contract, folder: scratch.folder.path)
  }

  /// What an app finds that is started in this environment.
  func launch() throws -> AppControls {
    setenv("DIORAMA_CONTRACT", delivery.value, 1)
    defer { unsetenv("DIORAMA_CONTRACT") }
    return try AppControls.launch()
  }

  func end() async {
    _ = await environment.end()
    await service.stop()
    scratch.remove()
  }
}
