import Foundation

/// How a contract gets to the app: in a variable or an argument itself, or in a file that one of them names.
package enum ContractWriter {
  /// What to hand to the app.
  package struct Delivery: Sendable, Equatable {
    /// The value of `DIORAMA_CONTRACT`, or of the argument `-DioramaContract`.
    package let value: String
    /// The file to delete once the app has ended; nil where the value is the document itself.
    package let file: String?
  }

  /// By what the value gets to the app.
  package enum Channel: Sendable {
    /// A variable, which the app's owner alone can read.
    case environment
    /// An argument, which everyone on the machine can read while the app runs.
    case arguments
  }

  /// The most bytes of a document that go into the environment, where one string may have 131,071.
  package static let inlineLimit = 32_768

  /// Writes a contract: inline, or, where it holds credentials or is over 32 KiB, into a new file of mode 0600.
  ///
  /// For an argument the control token is reason enough for a file.
  ///
  /// - Parameters:
  ///   - contract: what to hand over.
  ///   - folder: an absolute path, where the file goes if one is needed.
  ///   - channel: by what the value gets to the app.
  /// - Returns: the value to hand over, and the file if there is one.
  /// - Throws: ``ContractError`` when the file cannot be written.
  package static func deliver(
    _ contract: LaunchContract, folder: String, by channel: Channel = .environment
  ) throws(ContractError) -> Delivery {
    let document: Data
    do {
      document = try contract.encodedDocument()
    } catch let EncodingError.invalidValue(_, context) {
      throw ContractError("\(ContractJSON.place(context.codingPath))JSON has no such number (infinity, not a number)")
    } catch {
      throw ContractError("cannot be encoded")
    }
    let isSecret = contract.credentials != nil || (channel == .arguments && contract.control != nil)
    if !isSecret, document.count <= inlineLimit {
      return Delivery(value: String(decoding: document, as: UTF8.self), file: nil)
    }
    guard folder.hasPrefix("/") else { throw ContractError("the folder must be an absolute path", source: folder) }
    let path = "\(folder)/contract-\(UUID().uuidString.lowercased()).json"
    try ContractFile.create(path, document)
    return Delivery(value: "file:\(path)", file: path)
  }
}
