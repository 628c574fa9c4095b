import Foundation
import LaunchContract

#if DEBUG || Controlled
  package import Basics
#endif

/// Other values that a test can set, by name: a location, an account, a whole object.
///
/// ```swift
/// let here = controls.values[.location]     // with a ValueKey
/// let note = controls.values["note"]        // by name
/// ```
public struct Values: Sendable {
  @usableFromInline let reader: DeclaredReader

  /// Values without a contract, which have their defaults.
  static var live: Values { Values(.live) }

  init(_ reader: DeclaredReader) {
    self.reader = reader
  }

  /// The value set by the test, or the key's default.
  ///
  /// A value of the wrong type is ignored, with one warning on standard error.
  @inlinable
  public subscript<Value>(_ key: ValueKey<Value>) -> Value {
    reader.value(key.declared)
  }

  /// A string as is, other values as JSON; nil if the test sets none.
  public subscript(_ name: String) -> String? {
    #if DEBUG || Controlled
      return reader.store?[name]?.text
    #else
      return nil
    #endif
  }

  /// Decodes a value of the app's own type from JSON.
  ///
  /// - Parameters:
  ///   - name: the name that tests use.
  ///   - type: the type to decode.
  /// - Returns: nil if the test sets no value.
  /// - Throws: ``DioramaError`` of kind `contract` with the name and the problem.
  public func decode<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws(DioramaError) -> Value?
  {
    #if DEBUG || Controlled
      guard let value = reader.store?[name] else { return nil }
      do {
        return try JSON.decode(
          type, from: Data(value.encoded()), source: CodedError.contractPlace("values.\(name)"))
      } catch {
        throw DioramaError(.contract, "\(error)")
      }
    #else
      return nil
    #endif
  }

  /// The changes of a value while the app runs.
  ///
  /// The sequence starts with the first change after this call. If the loop is slow, it gets only the latest change.
  /// Without a contract the sequence ends at once.
  ///
  /// - Parameter key: the value to follow.
  /// - Returns: the new values, for one loop.
  public func changes<Value>(of key: ValueKey<Value>) -> AsyncStream<Value> {
    #if DEBUG || Controlled
      if let store = reader.store { return store.changes(of: key.declared) }
    #endif
    return AsyncStream { $0.finish() }
  }
}

#if DEBUG || Controlled
  extension Values {
    /// The values of a contract.
    ///
    /// - Parameters:
    ///   - values: the values set by the test.
    ///   - known: the names in the app's registry; nil without a registry.
    ///   - warn: takes one line for standard error.
    package init(
      _ values: [String: JSON], known: [String]? = nil, warn: @escaping @Sendable (String) -> Void
    ) {
      let hooks = DeclaredValues.Hooks(noun: "value", known: known, report: { _, _ in }, warn: warn)
      self.init(DeclaredReader(DeclaredValues(values, hooks: hooks)))
    }

    /// Replaces all values at once, in every copy.
    package func update(_ values: [String: JSON]) {
      reader.store?.update(values)
    }
  }
#endif
