#if DEBUG || Controlled
  package import LaunchContract

  extension Values {
    /// The values of a contract.
    ///
    /// - Parameters:
    ///   - values: what the test has handed over.
    ///   - known: the names that the app knows; nil where it has not said.
    ///   - warn: takes one line for standard error.
    package init(
      _ values: [String: ContractValue], known: [String]? = nil, warn: @escaping @Sendable (String) -> Void
    ) {
      let hooks = DeclaredValues.Hooks(noun: "value", known: known, report: { _, _ in }, warn: warn)
      self.init(DeclaredReader(DeclaredValues(values, hooks: hooks)))
    }

    /// Replaces all values of the contract at once, for every later reading, through every copy.
    package func update(_ values: [String: ContractValue]) {
      reader.store?.update(values)
    }
  }
#endif
