import Diorama
import Foundation
import LaunchContract

/// `diorama strings --batch`: many values by one process, for whoever checks another implementation.
enum StringsBatch {
  /// A line of the input.
  private struct Request: Decodable {
    var seed: String
    var key: String
    var ordinal: Int
    var parameters: StringParameters

    private enum CodingKeys: String, CodingKey {
      case seed, key, ordinal
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      seed = try container.decode(String.self, forKey: .seed)
      key = try container.decode(String.self, forKey: .key)
      ordinal = try container.decodeIfPresent(Int.self, forKey: .ordinal) ?? 0
      parameters = try StringParameters(request: decoder)
    }
  }

  /// Prints one JSON object for each line; empty lines count, but ask for nothing.
  ///
  /// - Throws: ``UsageError`` naming the first line that asks for what cannot be; the lines before it are answered.
  static func answer(_ input: Data) throws {
    for (index, line) in input.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      if line.isEmpty || line.elementsEqual([0x0D]) { continue }
      do {
        let request = try ContractJSON.decode(Request.self, from: Data(line), source: "")
        let derivation = StringDerivation(seed: request.seed)
        let value = try derivation.value(key: request.key, ordinal: request.ordinal, request.parameters)
        print(String(decoding: try ContractJSON.encode(["value": value]), as: UTF8.self))
      } catch {
        let error = (error as? ContractError)?.problem ?? "\(error)"
        throw UsageError("standard input, line \(index + 1): \(error)", command: "strings")
      }
    }
  }
}
