import Diorama
import Foundation

extension Scenario {
  static let enumeration = [
    Scenario("a list") { trial in
      let accounts = ["b", "a", "c", "B", "", "aa", "\u{E9}", "z", "🙂", "\u{FFFD}", "10", "9"]
      for account in accounts { trial.run(.add(Data("x".utf8), trial.key(account)), .keys(trial.service)) }
      for account in accounts.sorted() {
        trial.run(.update(Data("y".utf8), trial.key(account)), .keys(trial.service))
        trial.run(.delete(trial.key(account)), .keys(trial.service))
      }
    },
    Scenario("a list of one service of several") { trial in
      let services = ["", "-b", "-a", "-a-b"].map { trial.service + $0 }
      for (index, service) in services.enumerated() {
        for account in ["two", "one", "three"].prefix(index) {
          trial.run(.add(Data("x".utf8), CredentialKey(service: service, account: account)))
        }
      }
      for service in services { trial.run(.keys(service)) }
      trial.run(.keys(nil), .keys(trial.service + "-A"), .keys(trial.service + "-"), .keys(trial.service + "%"))
    },
    Scenario("a list with groups") { trial in
      for account in ["b", "a"] {
        for group in trial.groups.reversed() { trial.run(.add(Data("x".utf8), trial.key(account, group: group))) }
        trial.run(.add(Data("x".utf8), trial.key(account)))
      }
      trial.run(.keys(trial.service), .keys(nil))
    },
    Scenario("forty keys") { trial in
      for number in 0..<40 { trial.run(.add(Data("\(number)".utf8), trial.key("account \(number * 7 % 40)"))) }
      trial.run(.keys(trial.service), .keys(trial.service))
    },
  ]
}
