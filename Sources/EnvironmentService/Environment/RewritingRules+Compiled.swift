import Basics
import EnvironmentConfiguration
import Transforms

extension RewritingRules {
  /// Compiles the rules.
  ///
  /// - Returns: the places whose addresses stay.
  /// - Throws: a ``CodedError`` of kind `usage` naming the first invalid place.
  func compiled() throws(CodedError) -> KeptAddresses {
    var kept = KeptAddresses()
    for (number, text) in keep.enumerated() {
      try CodedError.translating(to: .usage, at: "rewriting.keep[\(number)]", try kept.add(text))
    }
    return kept
  }
}
