#if DEBUG || Controlled
  package import Foundation
  package import LaunchContract

  extension AppControls {
    /// What ``launch()`` does, with what it finds handed in.
    ///
    /// - Parameters:
    ///   - arguments: the app's arguments.
    ///   - environment: the app's environment.
    ///   - registry: what the app declares; nil where it does not.
    ///   - defaults: where the contract's user defaults go, asked for only if there are some; nil: nowhere.
    ///   - credentials: the store of the live environment; nil for the platform's.
    ///   - patience: with an environment that does not answer.
    ///   - warn: takes one line for standard error.
    /// - Returns: the live environment where there is no contract.
    /// - Throws: ``DioramaError``.
    package static func launch(
      arguments: [String], environment: [String: String], declaring registry: ControlRegistry? = nil,
      defaults: (() -> UserDefaults)? = nil, credentials: @autoclosure () -> (any CredentialStore)? = nil,
      patience: Patience = Patience(), warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) -> AppControls {
      let contract: LaunchContract?
      do {
        contract = try LaunchContract.decode(argumentsOf: arguments, environment: environment)
      } catch {
        throw DioramaError(error)
      }
      guard let contract else { return live(credentials() ?? platformCredentialStore()) }
      if !contract.unknownFields.isEmpty {
        warn("members of the launch contract are not known here: \(contract.unknownFields.joined(separator: ", "))")
      }
      let controls = try AppControls(contract, declaring: registry, patience: patience, warn: warn)
      do {
        if let defaults { try contract.applyDefaults(to: defaults) }
      } catch {
        throw DioramaError(error)
      }
      try controls.follow(contract, warn: warn)
      return controls
    }

    /// The environment of a contract; nothing is sent before the app asks for something.
    package init(
      _ contract: LaunchContract, declaring registry: ControlRegistry? = nil, patience: Patience = Patience(),
      warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) {
      try registry?.check(contract)
      environment = try contract.control.map { control throws(DioramaError) in
        try ControlAddress(control, patience: patience)
      }
      let connection = environment.map { ControlConnection($0) }
      // A line of its own, and less patience: nobody waits for it but the end of the process.
      reporter = environment.map {
        UsageReporter(ControlConnection($0, timeout: .seconds(5), waitsForReturn: false), warn: warn)
      }
      do {
        clock = DioramaClock(try Timeline(contract.clock))
      } catch {
        throw DioramaError(error.kind, "launch contract: \(error.description)")
      }
      if contract.strings == nil, contract.seed.isEmpty {
        strings = .live
      } else {
        let policy = contract.strings ?? LaunchContract.Strings(policy: .derive)
        strings = RandomStrings(
          .contract(
            try ContractStrings(policy, seed: contract.seed, connection: connection, reporter: reporter)))
      }
      toggles = Toggles(
        contract.toggles, known: registry?.names(.toggle),
        report: { [reporter] name, value in reporter?.didRead(toggle: name, value: value) }, warn: warn)
      values = Values(contract.values, known: registry?.names(.value), warn: warn)
      credentials = try InMemoryCredentialStore(contract.credentials)
      endpoints = try Endpoints(contract.endpoints, control: contract.control)
    }

    /// Lets the environment change this environment while the app runs, where the contract names one that does.
    ///
    /// The link lives as long as the environment, whatever the app keeps of its controls.
    package func follow(
      _ contract: LaunchContract, warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) {
      guard let environment, let revision = contract.control?.revision, let timeline = clock.timeline else { return }
      let controls = EnvironmentLink.Controls(
        timeline: timeline, toggles: { [toggles] in toggles.update($0) }, values: { [values] in values.update($0) })
      try EnvironmentLink(contract, environment, revision: revision, controls: controls, reporter: reporter, warn: warn)
        .start()
    }
  }
#endif
