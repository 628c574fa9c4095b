#if DEBUG || Controlled
  package import Basics
#endif

/// The toggles of the app: values set by a test, and defaults.
///
/// ```swift
/// if !controls.toggles[.skipOnboarding] { showOnboarding() }
/// ```
public struct Toggles: Sendable {
  @usableFromInline let reader: DeclaredReader

  /// Toggles without a contract, which have their defaults.
  static var live: Toggles { Toggles(.live) }

  init(_ reader: DeclaredReader) {
    self.reader = reader
  }

  /// The value set by the test, or the toggle's default.
  ///
  /// A value of the wrong type is ignored, with one warning on standard error. Under a contract the first reading of each
  /// value is reported to the environment; later readings take nanoseconds.
  @inlinable
  public subscript<Value>(_ toggle: Toggle<Value>) -> Value {
    reader.value(toggle.declared)
  }

  /// The changes of a toggle while the app runs.
  ///
  /// ```swift
  /// for await isDark in controls.toggles.changes(of: .darkMode) { apply(isDark) }
  /// ```
  ///
  /// The sequence starts with the first change after this call. To miss nothing, read the toggle after the call. If the
  /// loop is slow, it gets only the latest change. Without a contract the sequence ends at once.
  ///
  /// - Parameter toggle: the toggle to follow; this counts as a reading.
  /// - Returns: the new values, for one loop.
  public func changes<Value>(of toggle: Toggle<Value>) -> AsyncStream<Value> {
    #if DEBUG || Controlled
      if let store = reader.store { return store.changes(of: toggle.declared) }
    #endif
    return AsyncStream { $0.finish() }
  }
}

#if DEBUG || Controlled
  extension Toggles {
    /// The toggles of a contract.
    ///
    /// - Parameters:
    ///   - values: the values set by the test.
    ///   - known: the names in the app's registry; nil without a registry.
    ///   - report: called with each toggle's first reading of each value; it must not block.
    ///   - warn: takes one line for standard error.
    package init(
      _ values: [String: JSON], known: [String]? = nil,
      report: @escaping @Sendable (String, JSON) -> Void, warn: @escaping @Sendable (String) -> Void
    ) {
      let hooks = DeclaredValues.Hooks(noun: "toggle", known: known, report: report, warn: warn)
      self.init(DeclaredReader(DeclaredValues(values, hooks: hooks)))
    }

    /// Replaces all toggles at once, in every copy.
    package func update(_ values: [String: JSON]) {
      reader.store?.update(values)
    }

    /// The toggles read so far, in order, with each value that the app read.
    package var readings: [(name: String, value: JSON)] { reader.store?.readings ?? [] }
  }
#endif
