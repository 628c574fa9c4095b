public import Foundation
package import LaunchContract

/// Random values that a test can record and replay: e-mail addresses, symptoms, IDs, orders.
///
/// Without a contract they are really random. Under a launch contract each value depends only on the contract's seed,
/// the key and how often the key was used before, not on threads or other keys. A recording stores the values; a replay
/// reads them.
///
/// ```swift
/// let email = try controls.strings.email("user")
/// let age = try controls.strings.integer("age", in: 18...99)
/// ```
///
/// A key is a nonempty text without control characters that names the purpose of a value; Unicode-equivalent keys are
/// the same. If several threads use a key, the order of their values varies from run to run. To get the same values in
/// each run, give each part of the app its own keys with ``scope(_:)``.
///
/// While recording, a call waits until the environment has stored its value: at most 30 seconds, or 60 if a killed
/// daemon is being restarted. Replay does not wait.
public struct RandomStrings: Sendable {
  /// The letters a to z and the digits.
  public static let lettersAndDigits = StringParameters.defaultAlphabet

  /// The origin of the values.
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

  /// Real randomness, without a contract.
  package static let live = RandomStrings(.live)

  /// Values of an environment for the test's own process. The environment derives them, records them, or reads them from
  /// the recording.
  ///
  /// - Parameter contract: the environment's contract.
  /// - Returns: the values.
  /// - Throws: ``DioramaError`` if the contract names no environment, or in a release build that cannot be controlled.
  package static func reported(to contract: LaunchContract) throws(DioramaError) -> RandomStrings {
    #if DEBUG || Controlled
      let connection = try contract.control.map { control throws(DioramaError) in try ControlConnection(control) }
      return RandomStrings(
        .contract(
          try ContractStrings(
            LaunchContract.Strings(policy: .report), seed: contract.seed, connection: connection, reporter: nil)))
    #else
      throw DioramaError(.contract, "this release build cannot be controlled; build it with the trait Controlled")
    #endif
  }

  /// A copy whose keys are separate, for a part of the app that runs concurrently with others.
  ///
  /// ```swift
  /// let strings = controls.strings.scope("import-\(file.name)")
  /// let id = try strings.uuid("record")  // the key import-3▸record
  /// ```
  ///
  /// The key in the string store is the scope's name, `▸` (U+25B8) and the key; scopes can be nested. A `▸` or `\` in
  /// a name, or in a key inside a scope, is escaped with `\`, so that no two scopes share a key.
  ///
  /// - Parameter name: a valid key. Each call for a value throws if it is empty or contains control characters.
  /// - Returns: the same source of values, for the scope's keys.
  public func scope(_ name: String) -> RandomStrings {
    RandomStrings(source, scope: StringScope(name, in: scope))
  }

  /// Checks the request and gets its value; nil without a contract, when the caller makes a random value.
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

  /// The description of a list for the string store. Without a contract the elements' texts are not needed.
  func describe(_ elements: [some Any]) -> StringList {
    switch source {
    case .live: .count(elements.count)
    #if DEBUG || Controlled
      case .contract: StringList(describing: elements)
    #endif
    }
  }
}

/// A value under a contract.
struct RecordedDraw: Sendable {
  /// The key, with its scopes.
  var key: String
  /// How often the key was used before.
  var ordinal: Int
  /// The text in the string store.
  var value: String

  /// The error for a value that does not match its parameters, as in a string store that was edited by hand.
  func unusable(as wanted: String) -> DioramaError {
    DioramaError(
      .missingString,
      "the value '\(value)' recorded for the key \"\(key)\", ordinal \(ordinal), is not a valid \(wanted); re-record it"
    )
  }
}

extension RandomStrings {
  /// A random string.
  ///
  /// ```swift
  /// let symptom = try controls.strings.string("symptom", length: 24)
  /// ```
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - length: the number of Unicode scalars, from 0 to 1,048,576.
  ///   - alphabet: the 2 to 256 Unicode scalars to choose from.
  /// - Returns: the string.
  /// - Throws: ``DioramaError`` for an invalid key, length or alphabet, a value missing from the recording, or an
  ///   environment that does not respond.
  public func string(
    _ key: String, length: Int, alphabet: String = RandomStrings.lettersAndDigits
  ) throws(DioramaError) -> String {
    if let draw = try draw(key, .string(length: length, alphabet: alphabet)) { return draw.value }
    var bytes = SystemBytes()
    return try Letters.of(alphabet).string(length: length, from: &bytes)
  }

  /// A random e-mail address: letters a to z and digits, an `@` and the domain.
  ///
  /// ```swift
  /// let user = try controls.strings.email("user")  // z0r1lpyugt7o@example.com
  /// ```
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - domain: the part after the `@`; `example.com` is reserved for examples (RFC 2606).
  ///   - length: the number of characters before the `@`, from 1 to 64.
  /// - Returns: the address.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func email(
    _ key: String, domain: String = "example.com", length: Int = 12
  ) throws(DioramaError) -> String {
    if let draw = try draw(key, .email(length: length, domain: domain)) { return draw.value }
    var bytes = SystemBytes()
    return "\(try Letters.of(Self.lettersAndDigits).string(length: length, from: &bytes))@\(domain)"
  }

  /// A random UUID.
  ///
  /// ```swift
  /// let booking = try controls.strings.uuid("booking")
  /// ```
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - version4: whether to mark a derived UUID as version 4, for code that requires it. Without a contract UUIDs are
  ///     always version 4.
  /// - Returns: the UUID.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func uuid(_ key: String, version4: Bool = false) throws(DioramaError) -> UUID {
    guard let draw = try draw(key, .uuid(version4: version4)) else { return UUID() }
    guard let uuid = UUID(uuidString: draw.value) else { throw draw.unusable(as: "UUID") }
    return uuid
  }

  /// A random integer.
  ///
  /// ```swift
  /// let age = try controls.strings.integer("age", in: 18...99)
  /// ```
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - range: the range of the integer, within `Int64`.
  /// - Returns: the number.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func integer<Number: FixedWidthInteger>(
    _ key: String, in range: ClosedRange<Number>
  ) throws(DioramaError) -> Number {
    guard let low = Int64(exactly: range.lowerBound), let high = Int64(exactly: range.upperBound) else {
      throw DioramaError(
        .invalidRequest, "\(range) exceeds the range of signed 64-bit integers")
    }
    guard let draw = try draw(key, .integer(low: low, high: high)) else { return Number.random(in: range) }
    guard let number = Number(draw.value), range ~= number else {
      throw draw.unusable(as: "integer in \(low)…\(high)")
    }
    return number
  }
}

extension RandomStrings {
  /// A random element of a list.
  ///
  /// ```swift
  /// let plan = try controls.strings.choice("plan", from: Plan.allCases)
  /// ```
  ///
  /// Under a contract its index is the integer in 0…count − 1 for the same key and ordinal. The recording keeps the
  /// texts of the elements if they are strings, numbers or enumeration cases with such raw values, and at most 256; a
  /// replay with a different list is an error. For other elements it keeps the index and the count.
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - list: the elements to choose from.
  /// - Returns: the element.
  /// - Throws: ``DioramaError`` of kind `invalidRequest` for an empty list; otherwise as
  ///   ``string(_:length:alphabet:)`` does.
  public func choice<Element>(_ key: String, from list: some Collection<Element>) throws(DioramaError) -> Element {
    let elements = Array(list)
    let options = describe(elements)
    guard let draw = try draw(key, .choice(options)) else { return elements[Int.random(in: elements.indices)] }
    guard let index = options.index(of: draw.value) else { throw draw.unusable(as: "element of the list") }
    return elements[index]
  }

  /// A list in random order.
  ///
  /// ```swift
  /// let questions = try controls.strings.shuffle("questions", of: registry.questions)
  /// ```
  ///
  /// Under a contract the order is exactly specified, unlike Swift's `shuffled(using:)`, which may change between
  /// versions. For i = count − 1, …, 2, 1 the elements at i and j are swapped, where j is an integer in 0…i; all of
  /// these integers come from the bytes of the key and ordinal, in order. The recording keeps the order, and the list as
  /// ``choice(_:from:)`` does.
  ///
  /// - Parameters:
  ///   - key: the purpose of the value.
  ///   - list: 0 to 100,000 elements.
  /// - Returns: the same elements in random order.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func shuffle<Element>(_ key: String, of list: some Sequence<Element>) throws(DioramaError) -> [Element] {
    let elements = Array(list)
    let options = describe(elements)
    guard let draw = try draw(key, .shuffle(options)) else { return elements.shuffled() }
    guard let order = options.order(of: draw.value) else { throw draw.unusable(as: "order of \(elements.count)") }
    return order.map { elements[$0] }
  }
}

extension RandomStrings {
  /// A random number generator, for APIs that take one.
  ///
  /// ```swift
  /// var generator = try controls.strings.generator("noise")
  /// let noise = (0..<1_000).map { _ in Double(generator.next() >> 11) * 0x1p-53 }
  /// ```
  ///
  /// The numbers of ``Generator/next()`` are exactly specified. The results of Swift's own `random(in:using:)` and
  /// `shuffled(using:)` may change between Swift versions; for stable results use ``integer(_:in:)``,
  /// ``choice(_:from:)`` and ``shuffle(_:of:)``.
  ///
  /// - Parameter key: the purpose of the generator. Each call counts as a use of the key and returns another generator.
  /// - Returns: a generator; a copy continues with the same numbers.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func generator(_ key: String) throws(DioramaError) -> Generator {
    guard let draw = try draw(key, .generator) else { return Generator(row: nil) }
    guard let namespace = UUID(uuidString: draw.value) else { throw draw.unusable(as: "generator namespace") }
    return try StringDerivation(namespace: namespace).generator(key: draw.key, ordinal: draw.ordinal)
  }

  /// A random number generator made by ``RandomStrings/generator(_:)``.
  public struct Generator: RandomNumberGenerator, Sendable {
    /// Nil for the system's generator.
    private var row: DerivedBytes?

    init(row: DerivedBytes?) {
      self.row = row
    }

    /// The next number.
    ///
    /// Without a contract it comes from the system. Under a contract each call takes the next eight bytes of the key and
    /// ordinal, most significant first; none is skipped. Call n, from 0, uses bytes 8n to 8n + 7. The bytes are defined
    /// by the algorithm `uuid5-v1`: for i = 0, 1, 2, … the bytes of the version 5 UUID of the name `key ␟ ordinal ␟ i`
    /// in the seed's namespace S, without bytes 6 and 8 (counted from 0), fourteen a block. The recording keeps S, which
    /// a replay uses whatever its own seed is.
    public mutating func next() -> UInt64 {
      if let number = row?.nextEight() { return number }
      var system = SystemRandomNumberGenerator()
      return system.next()
    }
  }
}

extension StringDerivation {
  /// A generator for a key and ordinal.
  ///
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func generator(key: String, ordinal: Int) throws(DioramaError) -> RandomStrings.Generator {
    try Self.check(key: key, ordinal: ordinal)
    return RandomStrings.Generator(row: DerivedBytes(namespace: S, key: key, ordinal: ordinal))
  }
}

/// A prefix for the keys of a part of an app.
struct StringScope: Sendable {
  /// Separates a scope from its keys: rarely typed, so rare in keys, and easy to see.
  static let separator: Unicode.Scalar = "\u{25B8}"

  private let prefix: String
  /// The error in the name, thrown with the first value because `scope(_:)` does not throw.
  private let problem: DioramaError?

  init(_ name: String, in outer: StringScope?) {
    var problem = outer?.problem
    if problem == nil {
      do { try StringDerivation.check(scope: name) } catch { problem = error }
    }
    self.problem = problem
    prefix = "\(outer?.prefix ?? "")\(Self.escaped(name))\(Self.separator)"
  }

  /// The key in the string store.
  ///
  /// - Throws: ``DioramaError`` for an invalid scope name or key.
  func key(_ key: String) throws(DioramaError) -> String {
    if let problem { throw problem }
    try StringDerivation.check(key: key)
    return prefix + Self.escaped(key)
  }

  private static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0 == separator || $0 == "\\" }) else { return text }
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar == separator || scalar == "\\" { escaped.append("\\") }
      escaped.append(scalar)
    }
    return String(escaped)
  }
}
