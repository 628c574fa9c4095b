#if os(Linux)
  import CSecret
  import Diorama

  /// What an item is found by.
  final class Attributes {
    let table: OpaquePointer

    /// Those of one key. Its group is always there: a search finds items that have more attributes than were asked for.
    init(schema: String, _ key: CredentialKey) {
      table = diorama_attributes_new(schema, key.service, key.account, key.group ?? "")
    }

    /// Those of all keys, or of all of a service.
    init(schema: String, service: String?) {
      if let service {
        table = diorama_attributes_new(schema, service, nil, nil)
      } else {
        table = diorama_attributes_new(schema, nil, nil, nil)
      }
    }

    deinit { g_hash_table_unref(table) }

    /// All items with these attributes, in the order of their paths, without their secrets.
    func search(_ session: SecretServiceSession, for key: CredentialKey?) throws(CredentialError) -> [Item] {
      var attempts = 0
      while true {
        attempts += 1
        var error: UnsafeMutablePointer<GError>?
        let list = secret_service_search_sync(session.service, nil, table, SECRET_SEARCH_ALL, nil, &error)
        if let error {
          let failure = CredentialError(taking: error, for: key)
          // Somebody has deleted an item between the search and the look at what it found.
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
