#if DEBUG || Controlled
  import Foundation
  package import LaunchContract

  extension InMemoryCredentialStore {
    /// The store of a contract: filled, and in trouble, as the test has ordered; else empty.
    ///
    /// - Throws: ``DioramaError`` of kind `contract`, naming the member: another store than `memory`, an item that no
    ///   store could hold or that comes twice, a secret that is not in base64, a fault that nobody knows.
    package convenience init(_ credentials: LaunchContract.Credentials?) throws(DioramaError) {
      let credentials = credentials ?? LaunchContract.Credentials(items: [])
      guard credentials.store == "memory" else {
        throw Self.error("store", "'\(credentials.store)' is not known, only 'memory' is")
      }
      var secrets: [CredentialKey: Data] = [:]
      for (index, item) in credentials.items.enumerated() {
        let key = CredentialKey(service: item.service, account: item.account, group: item.group)
        do {
          try key.validate()
        } catch {
          throw Self.error("items.\(index)", error.description)
        }
        guard let secret = Data(base64Encoded: item.secret.revealed) else {
          throw Self.error("items.\(index).secret", "not base64")
        }
        guard secrets.updateValue(secret, forKey: key) == nil else {
          throw Self.error("items.\(index)", "\(key) is there twice")
        }
      }
      var faults: [CredentialFault] = []
      for (index, fault) in credentials.faults.enumerated() {
        faults.append(try CredentialFault(fault, at: "faults.\(index)"))
      }
      self.init(secrets, faults: faults)
    }

    fileprivate static func error(_ member: String, _ problem: String) -> DioramaError {
      DioramaError(.contract, "launch contract: credentials.\(member): \(problem)")
    }
  }

  extension CredentialFault {
    /// A fault as a contract writes it.
    fileprivate init(_ fault: LaunchContract.Credentials.Fault, at member: String) throws(DioramaError) {
      let kind: CredentialError.Kind?
      if let name = fault.error {
        kind = CredentialError.Kind(rawValue: name)
        guard kind != nil else {
          let kinds = CredentialError.Kind.allCases.map(\.rawValue).joined(separator: ", ")
          throw InMemoryCredentialStore.error("\(member).error", "'\(name)' is not one of \(kinds)")
        }
      } else {
        kind = nil
      }
      switch fault.fault {
      case "locked": self = .locked
      case "missingEntitlement": self = .missingEntitlement
      case "cancelled": self = .cancelled
      case "failWrite", "failRead":
        guard let nth = fault.nth, nth >= 1 else {
          throw InMemoryCredentialStore.error("\(member).nth", "\(fault.fault) needs a number from 1: which call fails")
        }
        self =
          fault.fault == "failWrite"
          ? .failWrite(nth: nth, with: kind ?? .failed) : .failRead(nth: nth, with: kind ?? .failed)
      default:
        throw InMemoryCredentialStore.error(
          "\(member).fault",
          "'\(fault.fault)' is not one of locked, missingEntitlement, cancelled, failWrite, failRead")
      }
    }
  }
#endif
