extension LaunchContract {
  /// The maximum size of an argument's value in bytes; the system allows 131,071.
  private static let argumentLimit = 32_768

  /// The toggles and user defaults as `-key value` pairs for the argument domain of `UserDefaults`: first the toggles, then
  /// the defaults, each sorted by name. A user default replaces a toggle with the same name.
  ///
  /// Pairs that cannot be expressed are omitted: a key that is empty, begins with a dash or contains a NUL; a value with
  /// control characters that XML cannot contain, a date with fractional seconds, a null in a toggle, more than 32 KiB. The
  /// contract still contains them: `AppControls.launch()` adds all user defaults to the argument domain itself.
  ///
  /// ```swift
  /// application.launchArguments += try contract.launchArguments()
  /// // ["-skip-onboarding", "<true/>", "-hasSeenPushPrompt", "<true/>", "-name", "Ann"]
  /// ```
  ///
  /// - Throws: ``ContractError`` for a user default that cannot be expressed at all: null, or an invalid date.
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
