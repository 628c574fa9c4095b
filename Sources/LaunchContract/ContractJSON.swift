package import Foundation

/// The JSON of contracts, with sorted members and unescaped slashes.
package enum ContractJSON {
  /// Encodes a value; equal values give equal bytes.
  ///
  /// - Throws: `EncodingError` for a number that JSON cannot express (infinity, NaN).
  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let marks = FractionMarks()
    marks.prepare(encoder)
    return marks.resolve(try encoder.encode(value))
  }

  /// Decodes a value; an error names the member and the problem.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - data: the JSON.
  ///   - source: the origin of the JSON, for errors: a variable, an argument or a path.
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

  /// `clock.kind: `, or an empty string for the whole document.
  static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(name).joined(separator: ".") + ": "
  }

  private static func name(_ key: any CodingKey) -> String {
    key.intValue.map(String.init) ?? key.stringValue
  }
}
