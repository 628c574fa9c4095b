import Diorama
import Foundation

extension Scenario {
  /// Bytes that some way of keeping them spoils.
  private static let samples: [(String, Data)] = [
    ("empty", Data()), ("one zero byte", Data([0])), ("zero bytes inside", Data("a\0b\0".utf8)),
    ("every byte", Data(0...255)), ("no UTF-8", Data([0xFF, 0xFE, 0xC3, 0x28])), ("a cut-off é", Data([0x61, 0xC3])),
    ("line ends", Data("\na\r\nb\n\n".utf8)), ("blanks", Data("  \t ".utf8)),
    ("other scripts", Data("пароль 🙂 é".utf8)),
    ("a byte order mark", Data([0xEF, 0xBB, 0xBF, 0x61])), ("base64", Data("aGVsbG8=".utf8)),
    ("JSON", Data(#"{"token":"\u0000","a":[1.0]}"#.utf8)), ("a shell's words", Data(#"$(x) `y` "z" 'ä' \n %s"#.utf8)),
    ("4,096 bytes", Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31) })),
    ("65,536 bytes", Data((0..<65_536).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 3) })),
  ]

  static let secrets = samples.map { name, secret in
    Scenario("a secret, \(name)") { trial in
      let key = trial.key("account")
      trial.run(.add(secret, key), .read(key), .add(Data("x".utf8), key), .read(key), .keys(trial.service))
      trial.run(.update(Data("old".utf8), key), .update(secret, key), .read(key))
      trial.run(.set(Data("old".utf8), key), .set(secret, key), .read(key), .delete(key), .read(key))
      trial.run(.set(secret, key), .read(key))
    }
  }
}
