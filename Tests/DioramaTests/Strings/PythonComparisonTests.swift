import Diorama
import Foundation
import LaunchContract
import TestSupport
import Testing

@Suite("The algorithm uuid5-v1 beside Python's uuid module")
struct PythonComparisonTests {
  private struct Request: Decodable {
    var seed: String
    var key: String
    var ordinal: Int
    var outputs: Int?
    var parameters: StringParameters

    private enum CodingKeys: String, CodingKey {
      case seed, key, ordinal, outputs
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      seed = try container.decode(String.self, forKey: .seed)
      key = try container.decode(String.self, forKey: .key)
      ordinal = try container.decode(Int.self, forKey: .ordinal)
      outputs = try container.decodeIfPresent(Int.self, forKey: .outputs)
      parameters = try StringParameters(request: decoder)
    }
  }

  @Test(
    "agrees to the bit on 10,000 random values",
    arguments: [
      ["string", "uuid", "integer"], ["email", "choice", "shuffle", "generator"],
    ])
  func agrees(types: [String]) async throws {
    let requests = try PythonStrings.requests(10_000, types: types)
    let answers = try await PythonStrings.answers(to: requests)
    try #require(answers.count == requests.count)
    for (data, answer) in zip(requests, answers) {
      let request = try JSONDecoder().decode(Request.self, from: data)
      let value = try value(of: request)
      // By bytes: two Swift strings are equal already when they look the same.
      let isEqual = value.utf8.elementsEqual(answer.utf8)
      #expect(isEqual, "\(value) is \(answer) in Python: \(request)")
      if !isEqual { break }
    }
  }

  private func value(of request: Request) throws -> String {
    let derivation = StringDerivation(seed: request.seed)
    guard let outputs = request.outputs else {
      return try derivation.value(key: request.key, ordinal: request.ordinal, request.parameters)
    }
    var generator = try derivation.generator(key: request.key, ordinal: request.ordinal)
    return (0..<outputs).map { _ in String(generator.next()) }.joined(separator: ",")
  }
}
