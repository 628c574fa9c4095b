#if os(Linux)
  import CSecret
  import Diorama
  import Foundation

  /// The credentials of one schema, for the duration of a call.
  struct Items {
    private let session: SecretServiceSession
    private let schema: String
    private let locking: SecretServiceCredentialStore.Locking

    init(_ session: SecretServiceSession, schema: String, locking: SecretServiceCredentialStore.Locking) {
      self.session = session
      self.schema = schema
      self.locking = locking
    }

    /// Finds and unlocks the items of a key: none or one, or more if another program created them.
    func find(_ key: CredentialKey) throws(CredentialError) -> [Item] {
      let attributes = Attributes(schema: schema, key)
      let found = try attributes.search(session, for: key)
      let locked = found.filter(\.isLocked)
      if found.isEmpty {
        // A locked keyring may hide its items.
        guard let collection = try lockedCollection(for: key) else { return [] }
        try unlock([collection], for: key)
      } else if locked.isEmpty {
        return found
      } else {
        try unlock(locked, for: key)
      }
      return try attributes.search(session, for: key)
    }

    func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
      let attributes = Attributes(schema: schema, service: service)
      var found = try attributes.search(session, for: nil)
      var locked: [any SecretObject] = found.filter(\.isLocked)
      if let collection = try lockedCollection(for: nil) { locked.append(collection) }
      if !locked.isEmpty {
        try unlock(locked, for: nil)
        found = try attributes.search(session, for: nil)
      }
      return Set(found.compactMap(\.key)).sorted()
    }

    /// Creates an item, or replaces an existing item's secret, in one call.
    func store(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      let attributes = Attributes(schema: schema, key)
      let value = makeValue(secret)
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      var error: UnsafeMutablePointer<GError>?
      let stored = secret_service_store_sync(
        session.service, nil, attributes.table, SECRET_COLLECTION_DEFAULT, "\(key.service): \(key.account)", value, nil,
        &error)
      if let error { throw CredentialError(taking: error, for: key) }
      // No error and no success: the user dismissed the prompt for creating the first keyring.
      guard stored != 0 else { throw CredentialError(.cancelled, for: key) }
    }

    /// The default collection if it is locked; nil also if it does not exist.
    private func lockedCollection(for key: CredentialKey?) throws(CredentialError) -> Collection? {
      var error: UnsafeMutablePointer<GError>?
      let found = secret_collection_for_alias_sync(
        session.service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, nil, &error)
      if let error {
        let failure = CredentialError(taking: error, for: key)
        guard failure.kind == .notFound else { throw failure }
        return nil
      }
      guard let found else { return nil }
      let collection = Collection(taking: found)
      return collection.isLocked ? collection : nil
    }

    private func unlock(_ objects: [any SecretObject], for key: CredentialKey?) throws(CredentialError) {
      guard locking == .prompt else { throw CredentialError(.locked, for: key) }
      var list: UnsafeMutablePointer<GList>?
      for object in objects { list = g_list_append(list, object.pointer) }
      defer { g_list_free(list) }
      var error: UnsafeMutablePointer<GError>?
      let unlocked = secret_service_unlock_sync(session.service, list, nil, nil, &error)
      if let error { throw CredentialError(taking: error, for: key) }
      guard unlocked > 0 else { throw CredentialError(.cancelled, for: key) }
    }
  }

  /// Wraps a secret for libsecret, in memory that is not swapped out if possible.
  func makeValue(_ secret: Data) -> OpaquePointer {
    // The type tells other programs whether to display the secret as text.
    let type = String(validating: secret, as: UTF8.self) == nil ? "application/octet-stream" : "text/plain"
    return secret.withUnsafeBytes { bytes in
      // "length: the length of the data, or -1 to use strlen"; NULL is not accepted.
      let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return base.map { secret_value_new($0, bytes.count, type) } ?? secret_value_new("", 0, type)
    }
  }

  /// A libsecret object that can be locked.
  protocol SecretObject {
    var pointer: UnsafeMutableRawPointer { get }
    /// The state at the time it was found.
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

  /// A credential, in its state at the time it was found.
  final class Item: SecretObject {
    private let item: UnsafeMutablePointer<SecretItem>

    init(taking item: UnsafeMutablePointer<SecretItem>) { self.item = item }

    deinit { g_object_unref(item) }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(item) }
    var isLocked: Bool { secret_item_get_locked(item) != 0 }

    /// The D-Bus path, which orders several items of one key.
    var path: String { String(cString: g_dbus_proxy_get_object_path(diorama_item_proxy(item))) }

    /// Nil for an item that another program created in a different form.
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
      // Some keyrings prompt before deleting.
      guard deleted != 0 else { throw CredentialError(.cancelled, for: key) }
    }
  }

  /// The attributes by which items are found.
  final class Attributes {
    let table: OpaquePointer

    /// The attributes of one key. The group is always included: a search also finds items with further attributes.
    init(schema: String, _ key: CredentialKey) {
      table = diorama_attributes_new(schema, key.service, key.account, key.group ?? "")
    }

    /// The attributes of all keys, or of all keys of a service.
    init(schema: String, service: String?) {
      if let service {
        table = diorama_attributes_new(schema, service, nil, nil)
      } else {
        table = diorama_attributes_new(schema, nil, nil, nil)
      }
    }

    deinit { g_hash_table_unref(table) }

    /// Finds all items with these attributes, sorted by path, without their secrets.
    func search(_ session: SecretServiceSession, for key: CredentialKey?) throws(CredentialError) -> [Item] {
      var attempts = 0
      while true {
        attempts += 1
        var error: UnsafeMutablePointer<GError>?
        let list = secret_service_search_sync(session.service, nil, table, SECRET_SEARCH_ALL, nil, &error)
        if let error {
          let failure = CredentialError(taking: error, for: key)
          // Another program deleted an item between the search and loading it.
          if failure.kind == .notFound, attempts < 10 { continue }
          throw failure
        }
        defer { g_list_free(list) }
        var items: [(path: String, item: Item)] = []
        var link = list
        while let current = link {
          if let data = current.pointee.data {
            let item = Item(taking: data.assumingMemoryBound(to: SecretItem.self))
            items.append((item.path, item))
          }
          link = current.pointee.next
        }
        return items.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }.map(\.item)
      }
    }
  }
#endif
