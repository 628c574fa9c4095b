/// The switches that a test has set, and the defaults of all others.
///
/// ```swift
/// if !controls.toggles[.skipOnboarding] { showOnboarding() }
/// ```
public struct Toggles: Sendable {
  @usableFromInline let reader: DeclaredReader

  /// Every toggle has its default.
  static var live: Toggles { Toggles(.live) }

  init(_ reader: DeclaredReader) {
    self.reader = reader
  }

  /// The value that the test has set, else the toggle's default.
  ///
  /// A value of another type than the toggle's counts as none and is complained of on standard error, once. Under a
  /// contract the first reading of each value is reported to the environment; later ones take some nanoseconds.
  @inlinable
  public subscript<Value>(_ toggle: Toggle<Value>) -> Value {
    reader.value(toggle.declared)
  }

  /// The values of a toggle that a test sets while the app runs, each once it differs from the one before.
  ///
  /// ```swift
  /// for await isDark in controls.toggles.changes(of: .darkMode) { apply(isDark) }
  /// ```
  ///
  /// It begins with the first change after this call: read the toggle after it, and nothing is missed. Of several
  /// changes that nobody has taken yet the last remains. Live nothing ever changes, and it ends at once.
  ///
  /// - Parameter toggle: the toggle to follow, which counts as read by this.
  /// - Returns: the values, for one loop.
  public func changes<Value>(of toggle: Toggle<Value>) -> AsyncStream<Value> {
    #if DEBUG || Controlled
      if let store = reader.store { return store.changes(of: toggle.declared) }
    #endif
    return AsyncStream { $0.finish() }
  }
}
