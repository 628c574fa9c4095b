import Foundation
import LaunchContract

/// Whatever else a test has for the app, by name: a place, an account, a whole object.
///
/// ```swift
/// let here = controls.values[.location]     // declared: a ValueKey with a default
/// let note = controls.values["note"]        // by its name alone
/// ```
public struct Values: Sendable {
  @usableFromInline let reader: DeclaredReader

  /// Nothing is there.
  static var live: Values { Values(.live) }

  init(_ reader: DeclaredReader) {
    self.reader = reader
  }

  /// The value that the test has handed over, else the key's default.
  ///
  /// A value of another type than the key's counts as none and is complained of on standard error, once.
  @inlinable
  public subscript<Value>(_ key: ValueKey<Value>) -> Value {
    reader.value(key.declared)
  }

  /// A string as it is, anything else as JSON; nil where the test has given nothing.
  public subscript(_ name: String) -> String? {
    #if DEBUG || Controlled
      return reader.store?[name]?.text
    #else
      return nil
    #endif
  }

  /// A value of the app's own type, out of its JSON.
  ///
  /// - Parameters:
  ///   - name: the name by which the test gives it.
  ///   - type: what it is to be.
  /// - Returns: nil where the test has given nothing.
  /// - Throws: ``DioramaError`` of kind `contract`, naming the value and what is wrong with it.
  public func decode<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws(DioramaError) -> Value?
  {
    #if DEBUG || Controlled
      guard let value = reader.store?[name] else { return nil }
      do {
        let data = try ContractJSON.encode(value)
        return try ContractJSON.decode(type, from: data, source: "values.\(name)")
      } catch {
        throw DioramaError(.contract, "\(error)")
      }
    #else
      return nil
    #endif
  }

  /// The values of a key that a test sets while the app runs, each once it differs from the one before.
  ///
  /// It begins with the first change after this call; of several changes that nobody has taken yet the last remains.
  /// Live nothing ever changes, and it ends at once.
  ///
  /// - Parameter key: the value to follow.
  /// - Returns: the values, for one loop.
  public func changes<Value>(of key: ValueKey<Value>) -> AsyncStream<Value> {
    #if DEBUG || Controlled
      if let store = reader.store { return store.changes(of: key.declared) }
    #endif
    return AsyncStream { $0.finish() }
  }
}
