/// What a key, a length and an alphabet have to be, live as well as in a test: what a recording would refuse
/// is refused on the first day.
extension StringDerivation {
  static func check(key: String, ordinal: Int = 0) throws(DioramaError) {
    guard !key.isEmpty else { throw DioramaError(.invalidRequest, "a random value needs a key that is not empty") }
    guard !key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw DioramaError(.invalidRequest, "the key \(key.debugDescription) of a random value has a control character")
    }
    guard ordinal >= 0 else {
      throw DioramaError(.invalidRequest, "the ordinal \(ordinal) of the key \"\(key)\" is below 0")
    }
  }

  static func check(length: Int) throws(DioramaError) {
    guard length >= 0 else { throw DioramaError(.invalidRequest, "the length \(length) of a random string is below 0") }
  }

  static func letters(of alphabet: String) throws(DioramaError) -> [Unicode.Scalar] {
    let letters = Array(alphabet.unicodeScalars)
    guard 2...256 ~= letters.count else {
      throw DioramaError(
        .invalidRequest,
        "an alphabet has 2 to 256 characters (Unicode scalars), this one has \(letters.count)")
    }
    return letters
  }
}
