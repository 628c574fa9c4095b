#if os(Linux)
  import CSecret
  import Diorama
  import Foundation

  /// The credentials of one schema, during one call.
  struct Items {
    private let session: SecretServiceSession
    private let schema: String
    private let locking: SecretServiceCredentialStore.Locking

    init(_ session: SecretServiceSession, schema: String, locking: SecretServiceCredentialStore.Locking) {
      self.session = session
      self.schema = schema
      self.locking = locking
    }

    /// The items of a key, unlocked: none or one, and more where another program has made them.
    func find(_ key: CredentialKey) throws(CredentialError) -> [Item] {
      let attributes = Attributes(schema: schema, key)
      let found = try attributes.search(session, for: key)
      let locked = found.filter(\.isLocked)
      if found.isEmpty {
        // A locked keyring may hide what it has.
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

    /// Makes an item, or replaces the secret of the one that there is, in one call.
    func store(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      let attributes = Attributes(schema: schema, key)
      let value = makeValue(secret)
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      var error: UnsafeMutablePointer<GError>?
      let stored = secret_service_store_sync(
        session.service, nil, attributes.table, SECRET_COLLECTION_DEFAULT, "\(key.service): \(key.account)", value, nil,
        &error)
      if let error { throw CredentialError(taking: error, for: key) }
      // Without an error and without success: somebody has dismissed the prompt that makes the first keyring.
      guard stored != 0 else { throw CredentialError(.cancelled, for: key) }
    }

    /// The default collection where it is locked; nil also where there is none yet.
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

  /// A secret as libsecret hands it over: in memory that is never swapped out, where there is any.
  func makeValue(_ secret: Data) -> OpaquePointer {
    // The type is for other programs, which show a text as one.
    let type = String(validating: secret, as: UTF8.self) == nil ? "application/octet-stream" : "text/plain"
    return secret.withUnsafeBytes { bytes in
      // "length: the length of the data, or -1 to use strlen"; NULL it does not take.
      let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return base.map { secret_value_new($0, bytes.count, type) } ?? secret_value_new("", 0, type)
    }
  }
#endif
