import LaunchContract

/// Random input that a test can record and replay: e-mail addresses, symptoms, ids, orders.
///
/// Live it is really random. Under a launch contract each value depends on the contract's seed, the key and how often
/// that key was used before, and on nothing else: not on threads, not on other keys. A recording stores the values, a
/// replay reads them.
///
/// ```swift
/// let email = try controls.strings.email("user")
/// let age = try controls.strings.integer("age", in: 18...99)
/// ```
///
/// A key says what the value is for; it is not empty and has no control characters, and is the same key however its
/// accents are encoded. Threads that use one key share its uses among them, one value each: whoever wants each part of
/// an app to get the same values in every run gives it keys of its own, by ``scope(_:)``.
///
/// In a recording a call waits until its value is stored, over loopback, half a minute at most
/// (as long again while a daemon that was killed is started again); in a replay it does not
/// wait.
public struct RandomStrings: Sendable {
  /// The letters a to z and the digits.
  public static let lettersAndDigits = StringParameters.defaultAlphabet

  /// Where values come from.
  enum Source: Sendable {
    case live
    #if DEBUG || Controlled
      case contract(ContractStrings)
    #endif
  }

  private let source: Source
  private let scope: StringScope?

  init(_ source: Source, scope: StringScope? = nil) {
    self.source = source
    self.scope = scope
  }

  /// Real randomness, for an app without a contract.
  package static let live = RandomStrings(.live)

  /// Keys of their own for a part of the app, so that parts that run at the same time do not race for the uses of one.
  ///
  /// ```swift
  /// let strings = controls.strings.scope("import-\(file.name)")
  /// let id = try strings.uuid("record")  // the key import-3▸record
  /// ```
  ///
  /// The key in the string store is the scope's name, `▸` (U+25B8) and the key; scopes within scopes go on so. A `▸` or
  /// `\` that a name, or a key inside a scope, has itself gets a `\` before it, so that no two scopes share a key.
  ///
  /// - Parameter name: of the same kind as a key. An empty one, or one with control characters, is an error of every
  ///   value of the scope.
  /// - Returns: the same source of values, for the scope's keys.
  public func scope(_ name: String) -> RandomStrings {
    RandomStrings(source, scope: StringScope(name, in: scope))
  }

  /// Nil in the live world, for which all the same rules hold: the value is then to be really random.
  func draw(_ key: String, _ parameters: StringParameters) throws(DioramaError) -> RecordedDraw? {
    let key = try scope?.key(key) ?? key
    try StringDerivation.check(key: key)
    try StringDerivation.check(parameters)
    switch source {
    case .live: return nil
    #if DEBUG || Controlled
      case .contract(let strings): return try strings.draw(key: key, parameters)
    #endif
    }
  }

  /// What the store is to know of a list; live it is not asked for the elements' texts.
  func describe(_ elements: [some Any]) -> StringList {
    switch source {
    case .live: .count(elements.count)
    #if DEBUG || Controlled
      case .contract: StringList(describing: elements)
    #endif
    }
  }
}

/// A value that a contract gives.
struct RecordedDraw: Sendable {
  /// The key, scopes included.
  var key: String
  /// Which use of the key it was.
  var ordinal: Int
  /// The text that the string store keeps.
  var value: String

  /// The value is not what its parameters promise, as in a store that was changed by hand.
  func unusable(as wanted: String) -> DioramaError {
    DioramaError(
      .missingString,
      "the value '\(value)' recorded for the key \"\(key)\", ordinal \(ordinal), is no \(wanted); record it again")
  }
}
