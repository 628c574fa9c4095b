import Basics
import Transforms
import Cassettes
import EnvironmentConfiguration
import LaunchContract

extension ShiftRules {
  /// Compiles the rules.
  ///
  /// - Returns: the declared places of dates, and a signer for tokens, or nil if there are no keys.
  /// - Throws: a ``CodedError`` of kind `usage` naming the first invalid rule.
  func compiled() throws(CodedError) -> (places: DatePlaces, signer: TokenSigner?) {
    var places = DatePlaces()
    let lists: [(String, [String], DatePlaces.Kind)] = [
      ("keep", keep, .kept), ("epochSeconds", epochSeconds, .epochSeconds),
      ("epochMilliseconds", epochMilliseconds, .epochMilliseconds), ("dates", dates, .day),
    ]
    for (name, list, kind) in lists {
      for (number, text) in list.enumerated() {
        try CodedError.translating(to: .usage, at: "dates.\(name)[\(number)]", try places.add(text, kind))
      }
    }
    var keys: [TokenKey] = []
    // Keys given by reference have been resolved earlier if they are needed.
    for (number, key) in jwt.enumerated() {
      guard let text = key.text?.revealed else { continue }
      keys.append(
        try CodedError.translating(to: .usage, at: "dates.jwt[\(number)].text", try TokenKey(text, keyID: key.kid)))
    }
    guard !keys.isEmpty else { return (places, nil) }
    let all = keys
    return (
      places,
      TokenSigner { algorithm, keyID, message in
        for key in all {
          if let signature = key.sign(algorithm, keyID: keyID, message) { return signature }
        }
        return nil
      }
    )
  }
}
