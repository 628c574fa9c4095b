import Foundation

extension LaunchContract {
  /// Reads a contract's value: the JSON itself, or `file:` and an absolute path.
  ///
  /// How a program finds that value is the app's business: see `decode(argumentsOf:environment:)` in `Diorama`, which
  /// is not there in builds that are not to be controlled.
  ///
  /// - Parameters:
  ///   - value: as it stands in the variable or argument.
  ///   - source: where the value comes from, for the error.
  /// - Returns: the contract.
  /// - Throws: ``ContractError`` naming the place: not JSON, a member that is wrong, a later version, no such file, a
  ///   file with credentials that others may read.
  package static func read(_ value: String, source: String) throws(ContractError) -> LaunchContract {
    guard value.hasPrefix("file:") else {
      if value.hasPrefix("/") { throw ContractError("a path is written file:\(value)", source: source) }
      return try decode(Data(value.utf8), source: source)
    }
    let path = String(value.dropFirst("file:".count))
    guard path.hasPrefix("/") else {
      throw ContractError("'\(path)' is not an absolute path; write file:/absolute/path", source: source)
    }
    let contract = try decode(try ContractFile.read(path), source: path)
    if contract.credentials?.items.isEmpty == false, !ContractFile.isPrivate(path) {
      throw ContractError("it holds credentials, and others may read it; run chmod 600 \(path)", source: path)
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
