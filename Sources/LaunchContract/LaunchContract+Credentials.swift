package import Foundation

extension LaunchContract {
  /// What the app's credential store holds when the app starts, and the trouble that it is in.
  package struct Credentials: Sendable, Equatable {
    /// One generic password.
    package struct Item: Codable, Sendable, Equatable {
      /// The service that it opens.
      package var service: String
      /// Whose it is.
      package var account: String
      /// The access group that shares it; nil for the app's own.
      package var group: String?
      /// In base64.
      package var secret: Secret

      /// Takes the secret's bytes as they are, not yet in base64.
      package init(service: String, account: String, group: String? = nil, secret: Data) {
        self.service = service
        self.account = account
        self.group = group
        self.secret = Secret(secret.base64EncodedString())
      }
    }

    /// A state of trouble: a locked device, a write that fails.
    package struct Fault: Codable, Sendable, Equatable {
      /// `locked`, `missingEntitlement`, `cancelled`: every call fails; `failWrite`, `failRead`: one does.
      package var fault: String
      /// Which write or read fails, from 1.
      package var nth: Int?
      /// How it fails, such as `cancelled`; nil for `failed`.
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
    /// The trouble that it is in.
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

  /// The members of the elements of its lists.
  static var knownElementFields: [String: Set<String>] {
    ["items": ["service", "account", "group", "secret"], "faults": ["fault", "nth", "error"]]
  }

  /// All members may be left out.
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
