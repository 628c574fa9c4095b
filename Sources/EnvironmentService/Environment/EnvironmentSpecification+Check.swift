import Basics
import LaunchContract

extension EnvironmentSpecification {
  /// - Throws: a ``CodedError`` of kind `usage` naming the first toggle, default or value that no app could take.
  func checkValues() throws(CodedError) {
    try Self.check(toggles, "toggle")
    try Self.check(defaults, "default")
    try Self.check(values, "value")
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) {
      do throws(CodedError) {
        _ = try PropertyList(value, at: "the default '\(name)'")
      } catch {
        throw CodedError(.usage, error.problem)
      }
    }
  }

  /// - Throws: a ``CodedError`` of kind `usage` for a rate that no clock can run at.
  func checkRate() throws(CodedError) {
    guard !(0.000_001...1_000_000 ~= clock.rate) else { return }
    throw CodedError(
      .usage, "the clock's rate \(clock.rate) is not between 0.000001 and 1000000; give one as in \(rateAdvice)")
  }

  /// - Parameters:
  ///   - values: by name.
  ///   - what: what one of them is called.
  /// - Throws: a ``CodedError`` of kind `usage`.
  static func check(_ values: [String: JSON], _ what: String) throws(CodedError) {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) where !value.isShallow {
      throw CodedError(
        .usage,
        "the \(what) '\(name)' has arrays and objects more than \(JSON.maximumDecodedDepth) deep in each other; "
          + "flatten it, or give it as a string")
    }
  }
}
