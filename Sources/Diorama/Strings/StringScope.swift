/// The keys of a part of an app.
struct StringScope: Sendable {
  /// Stands between a scope and what is in it: seldom typed, so that it is seldom in a plain key, and seen at once.
  static let separator: Unicode.Scalar = "\u{25B8}"

  private let prefix: String
  /// What is wrong with a name, kept for the first value: a scope is made where nothing can be thrown.
  private let problem: DioramaError?

  init(_ name: String, in outer: StringScope?) {
    var problem = outer?.problem
    if problem == nil {
      do { try StringDerivation.check(scope: name) } catch { problem = error }
    }
    self.problem = problem
    prefix = "\(outer?.prefix ?? "")\(Self.escaped(name))\(Self.separator)"
  }

  /// The key as the string store has it.
  ///
  /// - Throws: ``DioramaError`` where the scope's name or the key cannot be.
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
