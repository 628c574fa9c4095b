package import Foundation

/// JSON as both sides of a contract write and read it: members in the order of their names, slashes as they are.
package enum ContractJSON {
  /// The same value always gives the same bytes.
  ///
  /// - Throws: `EncodingError`, for a number that JSON cannot hold (infinity, not a number).
  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  /// Reads a value, and on failure says what is wrong at which member.
  ///
  /// - Parameters:
  ///   - type: what the JSON is to be.
  ///   - data: the JSON.
  ///   - source: where the text comes from, for the error: a variable, an argument, a path.
  /// - Returns: the value.
  /// - Throws: ``ContractError``.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, source: String
  ) throws(ContractError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: data)
    } catch let error as ContractError {
      throw ContractError(error.problem, source: source)
    } catch let error as DecodingError {
      throw ContractError(problem(of: error, in: data), source: source)
    } catch {
      throw ContractError("\(error)", source: source)
    }
  }

  private static func problem(of error: DecodingError, in data: Data) -> String {
    switch error {
    case .typeMismatch(_, let context): place(context.codingPath) + context.debugDescription
    case .valueNotFound(_, let context): place(context.codingPath) + context.debugDescription
    case .keyNotFound(let key, let context): place(context.codingPath) + "'\(key.stringValue)' is missing"
    case .dataCorrupted(let context):
      place(context.codingPath) + (syntaxProblem(of: data) ?? context.debugDescription)
    @unknown default: "\(error)"
    }
  }

  /// `clock.kind: `, or nothing where the document as a whole is meant.
  static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(name).joined(separator: ".") + ": "
  }

  private static func name(_ key: any CodingKey) -> String {
    key.intValue.map(String.init) ?? key.stringValue
  }

  /// Where the text stops being JSON: Foundation's decoder does not say so on Linux, its older parser does.
  private static func syntaxProblem(of data: Data) -> String? {
    do {
      _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
      return nil
    } catch {
      let detail = (error as NSError).userInfo["NSDebugDescription"] as? String
      return "not valid JSON" + (detail.map { ": \($0)" } ?? "")
    }
  }
}
