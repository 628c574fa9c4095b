package import LaunchContract

/// The switches that a test has set, and the defaults of all others.
public struct Toggles: Sendable {
  /// The value that the contract has under a name; nil where it has none.
  private let value: @Sendable (String) -> ContractValue?
  /// Told of every reading, with what the app got; the second is what was wrong with the contract's value.
  private let didRead: @Sendable (String, ContractValue, String?) -> Void

  package init(
    value: @escaping @Sendable (String) -> ContractValue?,
    didRead: @escaping @Sendable (String, ContractValue, String?) -> Void
  ) {
    self.value = value
    self.didRead = didRead
  }

  /// Every toggle has its default.
  static let live = Toggles(value: { _ in nil }, didRead: { _, _, _ in })

  /// The value that the test has set, else the toggle's default.
  ///
  /// A value of another type than the toggle's counts as none and is complained of on standard error. Under a contract
  /// the first reading of a toggle is reported to the environment, over loopback.
  public subscript<Value>(_ toggle: Toggle<Value>) -> Value {
    let given = value(toggle.name)
    let read = given.flatMap(toggle.read)
    let result = read ?? toggle.defaultValue
    var problem: String?
    if let given, read == nil {
      problem =
        "the toggle \(toggle.name) is \(given.text), which is no \(Value.self); the app goes on with its default"
    }
    didRead(toggle.name, toggle.write(result), problem)
    return result
  }
}
