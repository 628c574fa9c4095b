#if os(Linux)
  import CSecret
  import Diorama
  import Foundation

  /// Something of libsecret's that can be locked.
  protocol SecretObject {
    var pointer: UnsafeMutableRawPointer { get }
    /// As it was when it was found.
    var isLocked: Bool { get }
  }

  /// A collection of items: a keyring.
  final class Collection: SecretObject {
    private let collection: UnsafeMutablePointer<SecretCollection>

    init(taking collection: UnsafeMutablePointer<SecretCollection>) { self.collection = collection }

    deinit { g_object_unref(collection) }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(collection) }
    var isLocked: Bool { secret_collection_get_locked(collection) != 0 }
  }

  /// One credential, as it was when it was found.
  final class Item: SecretObject {
    private let item: UnsafeMutablePointer<SecretItem>

    init(taking item: UnsafeMutablePointer<SecretItem>) { self.item = item }

    deinit { g_object_unref(item) }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(item) }
    var isLocked: Bool { secret_item_get_locked(item) != 0 }

    /// Its path on the bus, by which several of one key have an order.
    var path: String { String(cString: g_dbus_proxy_get_object_path(diorama_item_proxy(item))) }

    /// Nil where another program has made an item that is none of ours.
    var key: CredentialKey? {
      guard let attributes = secret_item_get_attributes(item) else { return nil }
      defer { g_hash_table_unref(attributes) }
      func text(_ name: String) -> String? {
        g_hash_table_lookup(attributes, name).map { String(cString: $0.assumingMemoryBound(to: CChar.self)) }
      }
      guard let service = text("service"), let account = text("account"), let group = text("group") else { return nil }
      return CredentialKey(service: service, account: account, group: group.isEmpty ? nil : group)
    }

    func secret(for key: CredentialKey) throws(CredentialError) -> Data {
      var error: UnsafeMutablePointer<GError>?
      secret_item_load_secret_sync(item, nil, &error)
      if let error { throw CredentialError(taking: error, for: key) }
      guard let value = secret_item_get_secret(item) else { throw CredentialError(.failed, for: key) }
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      var count: gsize = 0
      guard let bytes = secret_value_get(value, &count) else { return Data() }
      return Data(bytes: bytes, count: Int(count))
    }

    func replace(by secret: Data, for key: CredentialKey) throws(CredentialError) {
      let value = makeValue(secret)
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      var error: UnsafeMutablePointer<GError>?
      secret_item_set_secret_sync(item, value, nil, &error)
      if let error { throw CredentialError(taking: error, for: key) }
    }

    func delete(for key: CredentialKey) throws(CredentialError) {
      var error: UnsafeMutablePointer<GError>?
      let deleted = secret_item_delete_sync(item, nil, &error)
      if let error { throw CredentialError(taking: error, for: key) }
      // Some keyrings ask before they delete.
      guard deleted != 0 else { throw CredentialError(.cancelled, for: key) }
    }
  }
#endif
