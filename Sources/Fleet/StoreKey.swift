package import Basics
import CSodium
package import Foundation
import LaunchContract

/// The key with which secrets of resources are stored encrypted: XChaCha20-Poly1305 (libsodium).
///
/// All daemons of a fleet need the same one. The database never sees it.
///
/// ```swift
/// let key = try StoreKey(source: "file:/etc/diorama/store.key")
/// let stored = try key.seal(["password": "…"], for: "patients/anna")
/// ```
package struct StoreKey: Sendable {
  private let bytes: [UInt8]
  /// Tells keys apart: the first 8 bytes of a hash of the key.
  private let id: [UInt8]

  /// The id in hexadecimal.
  package var fingerprint: String { Data(id).map { String(format: "%02x", $0) }.joined() }

  /// - Parameter bytes: 32 random bytes.
  /// - Throws: ``CodedError`` for another number of bytes.
  package init(bytes: [UInt8]) throws(CodedError) {
    guard bytes.count == Int(crypto_aead_xchacha20poly1305_ietf_keybytes()) else {
      throw CodedError(
        .usage,
        "the store's key has \(bytes.count) bytes, not 32; make one with: head -c 32 /dev/urandom | base64 > store.key")
    }
    guard sodium_init() >= 0 else { throw CodedError(.inputOutput, "libsodium cannot be initialised") }
    self.bytes = bytes
    var id = [UInt8](repeating: 0, count: 16)
    crypto_generichash(&id, 16, bytes, UInt64(bytes.count), nil, 0)
    self.id = Array(id.prefix(8))
  }

  /// Reads a key.
  ///
  /// - Parameters:
  ///   - source: `file:PATH` or `env:VARIABLE`, which hold 32 bytes in Base64 or, in a file, as they are.
  ///   - variables: the environment variables.
  /// - Throws: ``CodedError`` of kind `usage` if there is no such key.
  package init(source: String, variables: [String: String]) throws(CodedError) {
    let text: [UInt8]
    if source.hasPrefix("env:") {
      let name = String(source.dropFirst(4))
      guard let value = variables[name], !value.isEmpty else {
        throw CodedError(.usage, "the variable \(name), which should contain the store's key, is not set; set it")
      }
      text = Array(value.utf8)
    } else if source.hasPrefix("file:") {
      let path = String(source.dropFirst(5))
      do { text = Array(try InputFile(path, acceptsPipes: true).read(atMost: 4096)) } catch {
        throw CodedError(
          .usage,
          "the store's key cannot be read: \(error); make one with: head -c 32 /dev/urandom | base64 > '\(path)'")
      }
    } else {
      throw CodedError(.usage, "'\(source.prefix(4))…' is not a source for a key; give file:PATH or env:VARIABLE")
    }
    if text.count == 32 {
      try self.init(bytes: text)
      return
    }
    let trimmed = String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let data = Data(base64Encoded: trimmed) else {
      throw CodedError(
        .usage, "the store's key is not 32 bytes in Base64; make one with: head -c 32 /dev/urandom | base64")
    }
    try self.init(bytes: Array(data))
  }

  /// Reads the key of a file, which is made if it is missing.
  ///
  /// - Parameter path: a file in a private folder.
  /// - Throws: ``CodedError`` if it cannot be read or made.
  package init(madeAt path: String) throws(CodedError) {
    if !FileManager.default.fileExists(atPath: path) {
      var bytes = [UInt8](repeating: 0, count: 32)
      randombytes_buf(&bytes, 32)
      let text = Data(bytes).base64EncodedString() + "\n"
      guard
        FileManager.default.createFile(
          atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
      else { throw CodedError(.cannotWrite, "the store's key '\(path)' cannot be written; check its folder") }
    }
    try self.init(source: "file:\(path)", variables: [:])
  }

  /// Encrypts secrets.
  ///
  /// - Parameters:
  ///   - secrets: values by name.
  ///   - owner: what they belong to. They cannot be opened for anything else.
  /// - Returns: the encrypted secrets.
  /// - Throws: ``CodedError`` if they cannot be encoded.
  package func seal(_ secrets: [String: String], for owner: String) throws(CodedError) -> Data {
    let plain = Array(try CodedError.translating(to: .inputOutput, try JSONEncoder().encode(secrets)))
    var nonce = [UInt8](repeating: 0, count: Int(crypto_aead_xchacha20poly1305_ietf_npubbytes()))
    randombytes_buf(&nonce, nonce.count)
    var sealed = [UInt8](repeating: 0, count: plain.count + Int(crypto_aead_xchacha20poly1305_ietf_abytes()))
    var count: UInt64 = 0
    let additional = Array(owner.utf8)
    crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, &count, plain, UInt64(plain.count), additional, UInt64(additional.count), nil, nonce, bytes)
    return Data(id + nonce + sealed.prefix(Int(count)))
  }

  /// Decrypts secrets.
  ///
  /// - Throws: ``CodedError`` of kind `broken` if they were encrypted with another key, or changed.
  package func open(_ stored: Data, for owner: String) throws(CodedError) -> [String: String] {
    let stored = Array(stored)
    let nonceCount = Int(crypto_aead_xchacha20poly1305_ietf_npubbytes())
    guard stored.prefix(8) == id[...] else {
      throw CodedError(
        .broken,
        "the secrets of '\(owner)' were encrypted with another key; give this daemon the key of the other hosts with "
          + "--store-key")
    }
    let nonce = Array(stored.dropFirst(8).prefix(nonceCount))
    let sealed = Array(stored.dropFirst(8 + nonceCount))
    var plain = [UInt8](repeating: 0, count: max(sealed.count, 1))
    var count: UInt64 = 0
    let additional = Array(owner.utf8)
    guard nonce.count == nonceCount,
      crypto_aead_xchacha20poly1305_ietf_decrypt(
        &plain, &count, nil, sealed, UInt64(sealed.count), additional, UInt64(additional.count), nonce, bytes) == 0,
      let secrets = try? JSONDecoder().decode([String: String].self, from: Data(plain.prefix(Int(count))))
    else {
      throw CodedError(.broken, "the secrets of '\(owner)' are damaged in the store; import the resource again")
    }
    return secrets
  }
}
