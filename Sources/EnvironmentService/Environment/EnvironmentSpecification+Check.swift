import Basics
import LaunchContract

extension EnvironmentSpecification {
  /// - Throws: an ``EnvironmentError`` of kind `usage` naming the first toggle, default or value that no app could take.
  func checkValues() throws(EnvironmentError) {
    try Self.check(toggles, "toggle")
    try Self.check(defaults, "default")
    try Self.check(values, "value")
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) {
      do throws(CodedError) {
        _ = try PropertyList(value, at: "the default '\(name)'")
      } catch {
        throw EnvironmentError(.usage, error.message)
      }
    }
  }

  /// - Throws: an ``EnvironmentError`` of kind `usage` for a rate that no clock can run at.
  func checkRate() throws(EnvironmentError) {
    guard !(0.000_001...1_000_000 ~= clock.rate) else { return }
    throw EnvironmentError(
      .usage, "the clock's rate \(clock.rate) is not between 0.000001 and 1000000; give one as in \(rateAdvice)")
  }

  /// - Parameters:
  ///   - values: by name.
  ///   - what: what one of them is called.
  /// - Throws: an ``EnvironmentError`` of kind `usage`.
  static func check(_ values: [String: JSON], _ what: String) throws(EnvironmentError) {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) where !value.isShallow {
      throw EnvironmentError(
        .usage,
        "the \(what) '\(name)' has arrays and objects more than \(JSON.maximumDecodedDepth) deep in each other; "
          + "flatten it, or give it as a string")
    }
  }
}
