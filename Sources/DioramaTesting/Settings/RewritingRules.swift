import EnvironmentConfiguration

extension TestEnvironment {
  /// Exceptions from the rewriting of upstream URLs in responses, for URLs that the app compares with something that
  /// cannot be rewritten, such as the issuer in a signed token.
  ///
  /// The `issuer` of OpenID Connect and OAuth discovery documents is always kept. The same rules can be written as
  /// `rewriting` in the project file; all rules add up.
  ///
  /// ```swift
  /// .environment(rewriting: .init(keep: ["$.iss", "header:X-Issuer"]))
  /// ```
  public struct RewritingRules: Equatable, Sendable {
    let rules: ConfiguredRewriting

    /// Creates rules.
    ///
    /// - Parameter keep: places in responses whose upstream URLs the app gets as they are: JSON paths (`$.iss`) or
    ///   `header:NAME`.
    public init(keep: [String] = []) {
      var rules = ConfiguredRewriting()
      rules.keep = keep
      self.rules = rules
    }
  }
}

// Inside `TestEnvironment`, `RewritingRules` is the type above.
typealias ConfiguredRewriting = RewritingRules
