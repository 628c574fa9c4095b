#if DEBUG || Controlled
  import LaunchContract

  extension Toggles {
    /// The toggles of a contract, which tell the environment of the first reading of each.
    ///
    /// - Parameters:
    ///   - values: what the test has set.
    ///   - connection: the environment; nil where nobody listens.
    ///   - warn: takes one line for standard error.
    init(
      values: [String: ContractValue], connection: ControlConnection?, warn: @escaping @Sendable (String) -> Void
    ) {
      let reported = ReportedNames()
      self.init(value: { values[$0] }) { name, value, problem in
        guard reported.insert(name) else { return }
        if let problem { warn(problem) }
        do {
          try connection?.report(UsageReport(toggles: [name: value]))
        } catch {
          // A toggle's reader has no way to fail, and the value is right; only the report will lack it.
          warn("the reading of the toggle \(name) could not be reported: \(error)")
        }
      }
    }
  }

  /// Which toggles have been reported.
  private final class ReportedNames: Sendable {
    private let names = Locked<Set<String>>([])

    /// Whether the name is new.
    func insert(_ name: String) -> Bool {
      names.withLock { $0.insert(name).inserted }
    }
  }
#endif
