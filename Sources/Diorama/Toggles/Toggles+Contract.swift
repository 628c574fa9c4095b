#if DEBUG || Controlled
  package import LaunchContract

  extension Toggles {
    /// The toggles of a contract.
    ///
    /// - Parameters:
    ///   - values: what the test has set.
    ///   - known: the names that the app knows; nil where it has not said.
    ///   - report: told of each toggle's first reading of each value, with that value; it must not block.
    ///   - warn: takes one line for standard error.
    package init(
      _ values: [String: ContractValue], known: [String]? = nil,
      report: @escaping @Sendable (String, ContractValue) -> Void, warn: @escaping @Sendable (String) -> Void
    ) {
      let hooks = DeclaredValues.Hooks(noun: "toggle", known: known, report: report, warn: warn)
      self.init(DeclaredReader(DeclaredValues(values, hooks: hooks)))
    }

    /// Replaces all toggles of the contract at once, for every later reading, through every copy.
    package func update(_ values: [String: ContractValue]) {
      reader.store?.update(values)
    }

    /// Which toggles were read so far, in order, each with every value that the app got.
    package var readings: [(name: String, value: ContractValue)] { reader.store?.readings ?? [] }
  }
#endif
