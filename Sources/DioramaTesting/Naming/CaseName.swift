import Foundation
import Testing

/// The name of one case of a parameterised test, made from its arguments.
///
/// Swift Testing keeps a case's arguments to itself, but for reflection (`Mirror`), where each stands with the encoding
/// by which `swift test` tells cases apart. What is not found there as it is known is an error: two cases never share
/// a cassette.
enum CaseName {
  /// - Returns: nil for a test that has no cases.
  /// - Throws: when the arguments have no encoding that stays the same from run to run, or cannot be seen.
  static func make(_ testCase: Test.Case) throws(DioramaTestingError) -> String? {
    guard testCase.isParameterized else { return nil }
    guard
      let kind = child("_kind", of: testCase), let content = child("parameterized", of: kind),
      let arguments = child("arguments", of: content), let isStable = child("isStable", of: content) as? Bool,
      let discriminator = child("discriminator", of: content) as? Int
    else { throw failure("this version of Swift Testing does not show a case's arguments") }
    guard isStable else { throw failure("its arguments have no encoding that stays the same; make them Codable") }
    var parts: [String] = []
    for argument in Mirror(reflecting: arguments).children {
      guard let id = child("id", of: argument.value), let bytes = child("bytes", of: id) as? [UInt8] else {
        throw failure("this version of Swift Testing does not show a case's arguments")
      }
      parts.append(FileName.make(plain(String(decoding: bytes, as: UTF8.self))))
    }
    guard !parts.isEmpty else { throw failure("it has no arguments") }
    if discriminator != 0 { parts.append("\(discriminator)") }
    return parts.joined(separator: ",")
  }

  /// A JSON string's text; whatever else as it is.
  private static func plain(_ json: String) -> String {
    (try? JSONDecoder().decode(String.self, from: Data(json.utf8))) ?? json
  }

  private static func child(_ name: String, of value: Any) -> Any? {
    Mirror(reflecting: value).children.first { $0.label == name }?.value
  }

  private static func failure(_ reason: String) -> DioramaTestingError {
    DioramaTestingError(
      .usage,
      "this case of a parameterised test cannot be given a cassette of its own: \(reason), or provision inside the "
        + "test and name the case: TestEnvironment.provision(case: \"…\")")
  }
}
