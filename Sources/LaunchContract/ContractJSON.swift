package import Foundation

/// JSON as both sides of a contract write and read it: members in the order of their names, slashes as they are.
package enum ContractJSON {
  /// The same value always gives the same bytes.
  ///
  /// - Throws: `EncodingError`, for a number that JSON cannot hold (infinity, not a number).
  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let marks = FractionMarks()
    marks.prepare(encoder)
    return marks.resolve(try encoder.encode(value))
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
      let decoder = JSONDecoder()
      WholeFractions.prepare(decoder, for: data)
      return try decoder.decode(type, from: data)
    } catch let error as ContractError {
      throw ContractError(error.problem, source: source)
    } catch let error as DecodingError {
      throw ContractError(problem(of: error, in: data), source: source)
    } catch {
      throw ContractError(unreadable(data), source: source)
    }
  }

  /// `clock.kind: `, or nothing where the document as a whole is meant.
  static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(name).joined(separator: ".") + ": "
  }

  private static func name(_ key: any CodingKey) -> String {
    key.intValue.map(String.init) ?? key.stringValue
  }
}
