import Basics
import Transforms
import Cassettes
import ControlAPI
import LaunchContract

extension ShiftRules {
  /// The most bytes of a key.
  private static let keyLimit = 64 << 10

  /// - Parameter source: where the rules stand, for the error: a member, a file.
  /// - Returns: what is declared, and what signs tokens; nil where no key is given.
  /// - Throws: a ``CodedError`` of kind `usage` naming the first rule that cannot be used.
  func compiled(from source: String) throws(CodedError) -> (places: DatePlaces, signer: TokenSigner?) {
    let rules = RulePlaces(source: source, limit: 100)
    var places = DatePlaces()
    let lists: [(String, [String], DatePlaces.Kind)] = [
      ("keep", keep, .kept), ("epochSeconds", epochSeconds, .epochSeconds),
      ("epochMilliseconds", epochMilliseconds, .epochMilliseconds), ("dates", dates, .day),
    ]
    for (name, list, kind) in lists {
      try rules.check(count: list.count, name)
      for (number, text) in list.enumerated() {
        try rules.check(text, "\(name)[\(number)]")
        do throws(CodedError) { try places.add(text, kind) } catch {
          throw rules.failure("\(name)[\(number)]", error.problem)
        }
      }
    }
    var keys: [TokenKey] = []
    try rules.check(count: jwt.count, "jwt", "keys")
    for (number, key) in jwt.enumerated() {
      guard key.text != nil || key.key != nil else {
        throw rules.failure(
          "jwt[\(number)]",
          "it has no key; give the key itself as text, or in a file of rules its place as key: env:VAR or file:PATH")
      }
      guard let text = key.text?.revealed, key.key == nil else {
        throw rules.failure(
          "jwt[\(number)]",
          "give the key itself as text, and no key beside it: env: and file: are for files of rules")
      }
      try rules.check(text, "jwt[\(number)].text", atMost: Self.keyLimit)
      do throws(CodedError) { keys.append(try TokenKey(text, keyID: key.kid)) } catch {
        throw rules.failure("jwt[\(number)].text", error.problem)
      }
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
