import Cassettes
import ControlAPI
import LaunchContract

extension ShiftRules {
  /// The most rules of one kind, and bytes of one of them.
  private static let limit = 100
  private static let textLimit = 4096
  private static let keyLimit = 64 << 10

  /// - Parameter source: where the rules stand, for the error: a member, a file.
  /// - Returns: what is declared, and what signs tokens; nil where no key is given.
  /// - Throws: an ``EnvironmentError`` of kind `usage` naming the first rule that cannot be used.
  func compiled(from source: String) throws(EnvironmentError) -> (places: DatePlaces, signer: TokenSigner?) {
    func failure(_ place: String, _ problem: String) -> EnvironmentError {
      EnvironmentError(.usage, "\(source): $.\(place): \(problem)")
    }
    var places = DatePlaces()
    let lists: [(String, [String], DatePlaces.Kind)] = [
      ("keep", keep, .kept), ("epochSeconds", epochSeconds, .epochSeconds),
      ("epochMilliseconds", epochMilliseconds, .epochMilliseconds), ("dates", dates, .day),
    ]
    for (name, list, kind) in lists {
      guard list.count <= Self.limit else { throw failure(name, "\(list.count) rules are more than \(Self.limit)") }
      for (number, text) in list.enumerated() {
        guard text.utf8.count <= Self.textLimit else {
          throw failure("\(name)[\(number)]", "it has \(text.utf8.count) bytes, more than \(Self.textLimit)")
        }
        do throws(ContractError) { try places.add(text, kind) } catch {
          throw failure("\(name)[\(number)]", error.problem)
        }
      }
    }
    var keys: [TokenKey] = []
    guard jwt.count <= Self.limit else { throw failure("jwt", "\(jwt.count) keys are more than \(Self.limit)") }
    for (number, key) in jwt.enumerated() {
      guard key.text != nil || key.key != nil else {
        throw failure(
          "jwt[\(number)]",
          "it has no key; give the key itself as text, or in a file of rules its place as key: env:VAR or file:PATH"
        )
      }
      guard let text = key.text?.revealed, key.key == nil else {
        throw failure(
          "jwt[\(number)]",
          "give the key itself as text, and no key beside it: env: and file: are for files of rules"
        )
      }
      guard text.utf8.count <= Self.keyLimit else {
        throw failure("jwt[\(number)].text", "it has \(text.utf8.count) bytes, more than \(Self.keyLimit)")
      }
      do throws(ContractError) { keys.append(try TokenKey(text, keyID: key.kid)) } catch {
        throw failure("jwt[\(number)].text", error.problem)
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
