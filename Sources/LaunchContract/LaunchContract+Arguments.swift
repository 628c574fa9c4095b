extension LaunchContract {
  /// The most bytes of a value that goes into an argument; one argument may have 131,071.
  private static let argumentLimit = 32_768

  /// The toggles and user defaults as `-key value` pairs, as the argument domain of `UserDefaults` reads them: the ones
  /// in the order of their names, then the others. A user default is preferred to a toggle of its name.
  ///
  /// What a pair cannot carry is left out: a key that is empty, begins with a dash or has a NUL; a value with control
  /// characters that XML cannot hold, a date with parts of a second, a null in a toggle, more than 32 KiB. The
  /// contract carries it: `AppControls.launch()` puts all user defaults into the argument domain itself.
  ///
  /// ```swift
  /// application.launchArguments += try contract.launchArguments()
  /// // ["-skip-onboarding", "<true/>", "-hasSeenPushPrompt", "<true/>", "-name", "Ann"]
  /// ```
  ///
  /// - Throws: ``ContractError`` for a user default that can be carried in no way: null, or a date that is none.
  package func launchArguments() throws(ContractError) -> [String] {
    let defaults = try userDefaults()
    var words: [String] = []
    for (name, value) in toggles.sorted(by: { $0.key < $1.key }) where defaults[name] == nil {
      guard let list = try? PropertyList(value, at: "toggles.\(name)", hasTypedForms: false) else { continue }
      words += Self.pair(name, list)
    }
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) { words += Self.pair(name, value) }
    return words
  }

  private static func pair(_ name: String, _ value: PropertyList) -> [String] {
    guard let first = name.unicodeScalars.first, first != "-", !name.unicodeScalars.contains("\0"),
      let argument = value.argument, max(name.utf8.count, argument.utf8.count) <= argumentLimit
    else { return [] }
    return ["-\(name)", argument]
  }
}
