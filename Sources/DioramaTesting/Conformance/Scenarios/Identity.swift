import Diorama
import Foundation

extension Scenario {
  static let identity = [
    Scenario("keys that differ in the service alone") { trial in
      let name = trial.service
      tellApart(
        &trial,
        ["", "x", ".", "/", " ", "*", "%", "\u{E9}", "e\u{301}"].map { suffix in
          CredentialKey(service: name + suffix, account: "account")
        })
    },
    Scenario("keys that differ in the account alone") { trial in
      let accounts = [
        "", "account", "Account", "ACCOUNT", "account ", " account", "acc", "account2", "*", "%", "_", "\u{E9}",
        "e\u{301}", "a/b", "a\\b", "a\nb", "a\tb", "'", "\"", "🙂", "\u{FEFF}account",
      ]
      let keys = accounts.map { trial.key($0) }
      tellApart(&trial, keys)
    },
    Scenario("keys whose parts make the same text together") { trial in
      let name = trial.service
      tellApart(
        &trial,
        [
          CredentialKey(service: name + "a", account: "bc"), CredentialKey(service: name + "ab", account: "c"),
          CredentialKey(service: name + "/a", account: "b"), CredentialKey(service: name, account: "a/b"),
          CredentialKey(service: name + ":a", account: "b"), CredentialKey(service: name, account: "a:b"),
          CredentialKey(service: name, account: ""), CredentialKey(service: name + "a", account: ""),
          CredentialKey(service: name, account: "a"),
        ])
    },
    Scenario("keys that differ in the group alone") { trial in
      let groups: [String?] = [nil] + trial.groups
      let keys = groups.map { trial.key("account", group: $0) }
      tellApart(&trial, keys)
    },
    Scenario("an item in a group, asked for without one") { trial in
      guard let group = trial.groups.first else { return }
      let (shared, own) = (trial.key("account", group: group), trial.key("account"))
      trial.run(
        .add(Data("shared".utf8), shared), .read(own), .update(Data("x".utf8), own), .delete(own), .read(shared))
      trial.run(.keys(trial.service), .add(Data("own".utf8), own), .read(shared), .delete(shared), .read(own))
    },
    Scenario("a group that has the name of another's account") { trial in
      guard let group = trial.groups.first else { return }
      let keys = [trial.key(group), trial.key("account", group: group), trial.key(group, group: group)]
      tellApart(&trial, keys)
    },
  ]

  /// Each key has its own secret, whatever is done to the others.
  private static func tellApart(_ trial: inout ConformanceRun, _ keys: [CredentialKey]) {
    func secret(_ index: Int, _ round: String) -> Data { Data("\(round) secret \(index)".utf8) }
    func readAll() { for key in keys { trial.run(.read(key)) } }
    for (index, key) in keys.enumerated() { trial.run(.add(secret(index, "first"), key)) }
    readAll()
    trial.run(.keys(nil))
    for service in Set(keys.map(\.service)).sorted() { trial.run(.keys(service)) }
    for (index, key) in keys.enumerated().reversed() { trial.run(.update(secret(index, "second"), key)) }
    readAll()
    for (index, key) in keys.enumerated() where index.isMultiple(of: 2) { trial.run(.delete(key)) }
    readAll()
    for (index, key) in keys.enumerated() { trial.run(.set(secret(index, "third"), key)) }
    readAll()
    trial.run(.keys(nil))
  }
}
