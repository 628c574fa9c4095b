import Basics
import Transforms
import ControlAPI

extension EnvironmentSpecification {
  /// What takes secrets out of all that is kept of the environment: the credentials, the rules that were given, and those
  /// in files beside the cassette.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` naming the first rule that cannot be used; `inputOutput` for a file
  ///   that cannot be read.
  func redactor(token: String) throws(CodedError) -> Redactor {
    var rules = redaction
    // Told apart: each error names where its rule stands.
    _ = try rules.compiled(from: redactionAdvice)
    if let cassette { rules = rules.adding(try RedactionFiles.beside(cassette)) }
    let compiled = try rules.compiled(from: redactionAdvice)
    return Redactor(
      (credentials + accessSecrets(compiled)).map(\.named), token: token, rules: compiled,
      decodedLimit: decodedLimit ?? Redactor.usualDecodedLimit)
  }
}
