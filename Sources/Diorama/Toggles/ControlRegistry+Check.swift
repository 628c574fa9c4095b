#if DEBUG || Controlled
  import LaunchContract

  extension ControlRegistry {
    /// The names of one kind, in order.
    func names(_ kind: Declaration.Kind) -> [String] {
      declarations.filter { $0.kind == kind }.map(\.name)
    }

    /// Refuses a contract that sets what the app does not know, and a registry that has a name twice.
    ///
    /// - Throws: ``DioramaError`` of kind `contract`, naming each, with the nearest name.
    func check(_ contract: LaunchContract) throws(DioramaError) {
      var problems: [String] = []
      for kind in Declaration.Kind.allCases {
        let known = names(kind)
        for name in Set(known).sorted() where known.count(where: { $0 == name }) > 1 {
          problems.append("the \(kind.rawValue) \(name) is declared more than once; declare it once")
        }
        if kind == .userDefault, known.isEmpty { continue }
        let (field, given) =
          switch kind {
          case .toggle: ("toggles", contract.toggles)
          case .value: ("values", contract.values)
          case .userDefault: ("defaults", contract.defaults)
          }
        for name in given.keys.sorted() where !known.contains(name) {
          problems.append("\(field).\(name): " + Self.unknown("this \(kind.rawValue)", name, among: known))
        }
      }
      guard problems.isEmpty else {
        throw DioramaError(.contract, "launch contract: " + problems.joined(separator: "; "))
      }
    }

    /// What to say of a name that the app does not know.
    static func unknown(_ subject: String, _ name: String, among known: [String]) -> String {
      let nearest = EditDistance.nearest(to: name, among: known).first
      return "\(subject) is not declared by the app" + (nearest.map { "; the nearest is \($0)" } ?? "")
    }
  }
#endif
