import Diorama
import LaunchContract
import Testing

/// The environment of a contract about random values, which is to warn of nothing.
func fixture(
  _ strings: LaunchContract.Strings?, seed: String = "recording-2018", control: LaunchContract.Control? = nil
) throws -> AppControls {
  var contract = LaunchContract(
    environment: .init(id: "", name: ""), mode: "test", clock: .init(kind: .system), seed: seed)
  contract.strings = strings
  contract.control = control
  return try AppControls(contract) { Issue.record("warned: \($0)") }
}

/// The environment of a replay.
func replay(_ entries: [String: [StringEntry?]], control: LaunchContract.Control? = nil) throws -> AppControls {
  try fixture(.init(policy: .replay, entries: entries), control: control)
}
