import Foundation

extension LaunchContract {
  /// Reads a contract from a value: the JSON itself, or `file:` and an absolute path.
  ///
  /// For how the app finds the value, see `decode(argumentsOf:environment:)` in `Diorama`, which is omitted from builds that
  /// must not be controlled.
  ///
  /// - Parameters:
  ///   - value: the value of the variable or argument.
  ///   - source: the origin of the value, for errors.
  /// - Returns: the contract.
  /// - Throws: ``ContractError`` with the place of the problem: invalid JSON, an invalid member, a later version, a missing
  ///   file, a file with credentials that others can read.
  package static func read(_ value: String, source: String) throws(ContractError) -> LaunchContract {
    guard value.hasPrefix("file:") else {
      if value.hasPrefix("/") { throw ContractError("write a path as file:\(value)", source: source) }
      return try decode(Data(value.utf8), source: source)
    }
    let path = String(value.dropFirst("file:".count))
    guard path.hasPrefix("/") else {
      throw ContractError("'\(path)' is not an absolute path; write file:/absolute/path", source: source)
    }
    let contract = try decode(try ContractFile.read(path), source: path)
    if contract.credentials?.items.isEmpty == false, !ContractFile.isPrivate(path) {
      throw ContractError("it contains credentials that other users can read; run chmod 600 \(path)", source: path)
    }
    return contract
  }

  private static func decode(_ document: Data, source: String) throws(ContractError) -> LaunchContract {
    let parts = RecordedEntries.split(document, at: ["strings", "entries"])
    var contract = try ContractJSON.decode(LaunchContract.self, from: parts?.rest ?? document, source: source)
    if let parts { contract.strings?.entries = parts.entries }
    return contract
  }
}
