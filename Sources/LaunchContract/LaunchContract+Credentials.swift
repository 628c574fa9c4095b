package import Foundation

extension LaunchContract {
  /// The content of the app's credential store at launch, and its faults.
  package struct Credentials: Sendable, Equatable {
    /// A generic password.
    package struct Item: Codable, Sendable, Equatable {
      /// The service it gives access to.
      package var service: String
      /// The account.
      package var account: String
      /// The shared access group; nil for the app's own.
      package var group: String?
      /// The secret in Base64.
      package var secret: Secret

      /// Creates an item from the raw bytes of the secret.
      package init(service: String, account: String, group: String? = nil, secret: Data) {
        self.service = service
        self.account = account
        self.group = group
        self.secret = Secret(secret.base64EncodedString())
      }
    }

    /// A fault, such as a locked device or a failing write.
    package struct Fault: Codable, Sendable, Equatable {
      /// `locked`, `missingEntitlement`, `cancelled`: every call fails; `failWrite`, `failRead`: one call fails.
      package var fault: String
      /// The number of the write or read that fails, from 1.
      package var nth: Int?
      /// The kind of failure, such as `cancelled`; nil for `failed`.
      package var error: String?

      package init(_ fault: String, nth: Int? = nil, error: String? = nil) {
        self.fault = fault
        self.nth = nth
        self.error = error
      }
    }

    /// `memory`.
    package var store: String
    /// The store's content at launch.
    package var items: [Item]
    /// The faults of the store.
    package var faults: [Fault]

    package init(store: String = "memory", items: [Item], faults: [Fault] = []) {
      self.store = store
      self.items = items
      self.faults = faults
    }
  }
}

extension LaunchContract.Credentials: Codable {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case store, items, faults
  }

  static var knownFields: Set<String> { Set(CodingKeys.allCases.map(\.rawValue)) }

  /// The members of the list elements.
  static var knownElementFields: [String: Set<String>] {
    ["items": ["service", "account", "group", "secret"], "faults": ["fault", "nth", "error"]]
  }

  /// Decodes credentials; all members are optional.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      store: try container.decodeIfPresent(String.self, forKey: .store) ?? "memory",
      items: try container.decodeIfPresent([Item].self, forKey: .items) ?? [],
      faults: try container.decodeIfPresent([Fault].self, forKey: .faults) ?? [])
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(store, forKey: .store)
    try container.encode(items, forKey: .items)
    if !faults.isEmpty { try container.encode(faults, forKey: .faults) }
  }
}
