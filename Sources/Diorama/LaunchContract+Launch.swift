#if DEBUG || Controlled
  package import LaunchContract

  extension LaunchContract {
    /// Finds and reads the contract that a program was started with.
    ///
    /// `-DioramaContract VALUE` among the arguments wins over the variable `DIORAMA_CONTRACT`; of several such
    /// arguments the last counts, as with user defaults.
    ///
    /// - Parameters:
    ///   - arguments: the program's arguments.
    ///   - environment: the program's environment; an empty variable counts as none.
    /// - Returns: nil where there is none, and the program is to live in the real world.
    /// - Throws: ``ContractError`` naming the place: not JSON, a member that is wrong, a later version, no such file.
    package static func decode(
      argumentsOf arguments: [String], environment: [String: String]
    ) throws(ContractError) -> LaunchContract? {
      let name = "-DioramaContract"
      if let index = arguments.lastIndex(of: name) {
        guard index + 1 < arguments.count else {
          throw ContractError("JSON or file:/absolute/path must follow", source: "the argument \(name)")
        }
        return try read(arguments[index + 1], source: "the argument \(name)")
      }
      let variable = "DIORAMA_CONTRACT"
      guard let value = environment[variable], !value.isEmpty else { return nil }
      return try read(value, source: variable)
    }
  }
#endif
