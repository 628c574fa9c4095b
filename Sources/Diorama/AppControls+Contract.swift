#if DEBUG || Controlled
  package import LaunchContract

  extension AppControls {
    /// What ``launch()`` does, with what it finds handed in.
    ///
    /// - Parameters:
    ///   - arguments: the app's arguments.
    ///   - environment: the app's environment.
    ///   - warn: takes one line for standard error.
    /// - Returns: the live world where there is no contract.
    /// - Throws: ``DioramaError``.
    package static func launch(
      arguments: [String], environment: [String: String], warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) -> AppControls {
      let contract: LaunchContract?
      do {
        contract = try LaunchContract.decode(argumentsOf: arguments, environment: environment)
      } catch {
        throw DioramaError(error)
      }
      guard let contract else { return .live }
      if !contract.unknownFields.isEmpty {
        warn("members of the launch contract are not known here: \(contract.unknownFields.joined(separator: ", "))")
      }
      return try AppControls(contract, warn: warn)
    }

    /// The world of a contract; nothing is sent before the app asks for something.
    package init(_ contract: LaunchContract, warn: @escaping @Sendable (String) -> Void) throws(DioramaError) {
      var connection: ControlConnection?
      if let control = contract.control { connection = try ControlConnection(control) }
      clock = try DioramaClock(contract.clock)
      if contract.strings == nil, contract.seed.isEmpty {
        strings = .live
      } else {
        let policy = contract.strings ?? LaunchContract.Strings(policy: .derive)
        let source = try ContractStrings(policy, seed: contract.seed, connection: connection)
        strings = RandomStrings { (key, parameters) throws(DioramaError) in
          try source.value(key: key, parameters)
        }
      }
      toggles = Toggles(values: contract.toggles, connection: connection, warn: warn)
      values = Values(contract.values)
      endpoints = try Endpoints(contract.endpoints, control: contract.control)
    }
  }
#endif
