import Foundation
package import LaunchContract

/// Whatever else a test has for the app, by name: a place, an account, a whole object.
public struct Values: Sendable {
  private let values: [String: ContractValue]

  package init(_ values: [String: ContractValue]) {
    self.values = values
  }

  /// A string as it is, anything else as JSON; nil where the test has given nothing.
  public subscript(_ name: String) -> String? {
    values[name]?.text
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
    guard let value = values[name] else { return nil }
    do {
      let data = try ContractJSON.encode(value)
      return try ContractJSON.decode(type, from: data, source: "values.\(name)")
    } catch {
      throw DioramaError(.contract, "\(error)")
    }
  }
}
