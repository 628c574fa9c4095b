import Diorama
import Foundation

extension Scenario {
  static let missing = [
    Scenario("where there is nothing") { trial in
      let key = trial.key("account")
      trial.run(.read(key), .update(Data("x".utf8), key), .read(key), .delete(key), .read(key))
      trial.run(.keys(trial.service))
    },
    Scenario("beside others") { trial in
      let (one, other) = (trial.key("one"), trial.key("other"))
      trial.run(.add(Data("x".utf8), one), .read(other), .update(Data("y".utf8), other), .delete(other), .read(one))
    },
  ]

  static let writing = [
    Scenario("an addition") { trial in
      let key = trial.key("account")
      trial.run(.add(Data("first".utf8), key), .read(key), .read(key))
      trial.run(.add(Data("second".utf8), key), .read(key), .add(Data("first".utf8), key), .keys(trial.service))
    },
    Scenario("an update") { trial in
      let key = trial.key("account")
      trial.run(.add(Data("first".utf8), key), .update(Data("second".utf8), key), .read(key))
      trial.run(.update(Data("a longer one than before".utf8), key), .read(key), .update(Data("3".utf8), key))
      trial.run(.read(key), .update(Data("3".utf8), key), .read(key), .keys(trial.service))
    },
    Scenario("a deletion") { trial in
      let (key, other) = (trial.key("account"), trial.key("other"))
      trial.run(.add(Data("first".utf8), key), .add(Data("kept".utf8), other), .delete(key), .read(key), .delete(key))
      trial.run(.update(Data("second".utf8), key), .keys(trial.service), .add(Data("third".utf8), key), .read(key))
      trial.run(.read(other))
    },
    Scenario("a setting") { trial in
      let key = trial.key("account")
      trial.run(.set(Data("first".utf8), key), .read(key), .set(Data("second".utf8), key), .read(key))
      trial.run(.keys(trial.service), .add(Data("third".utf8), key), .delete(key), .read(key))
      trial.run(.set(Data(), key), .read(key))
    },
  ]

  static let refusals = [
    Scenario("a key that no store can hold") { trial in
      let keys = [
        trial.key("a\0b"), CredentialKey(service: trial.service + "\0", account: "a"), trial.key("a", group: ""),
        trial.key("a", group: "g\0"),
      ]
      // What a store would hold that cuts the text at U+0000.
      trial.touch(trial.key("a"), holding: nil)
      for key in keys {
        trial.run(.add(Data("x".utf8), key), .set(Data("x".utf8), key), .update(Data("x".utf8), key))
        trial.run(.read(key), .delete(key))
      }
      trial.run(.keys(trial.service), .add(Data("x".utf8), trial.key("a")), .keys(trial.service + "\0"))
    }
  ]
}
