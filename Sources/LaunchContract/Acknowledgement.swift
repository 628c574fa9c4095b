/// What an app that follows its environment sends to `POST {control}/acknowledge`: that it has applied a step, or how
/// many sleepers it has.
package struct Acknowledgement: Codable, Sendable, Equatable {
  /// The name that the app gives itself when it asks for the state.
  package var follower: String
  /// The step that has been applied, and with it all before it.
  package var revision: Int?
  /// RFC 3339: what the app's clock shows after it.
  package var now: String?
  /// How many sleepers the step woke.
  package var woken: Int?
  /// Why the step could not be applied.
  package var error: String?
  /// The watch that `sleepers` is for.
  package var watch: Int?
  /// How many sleepers there are.
  package var sleepers: Int?

  package init(
    follower: String, revision: Int? = nil, now: String? = nil, woken: Int? = nil, error: String? = nil,
    watch: Int? = nil, sleepers: Int? = nil
  ) {
    self.follower = follower
    self.revision = revision
    self.now = now
    self.woken = woken
    self.error = error
    self.watch = watch
    self.sleepers = sleepers
  }
}

extension Acknowledgement {
  /// Whether an app may call itself so: 1 to 100 letters, digits, `.`, `_` and `-`.
  package static func isName(_ text: String) -> Bool {
    1...100 ~= text.utf8.count && text.utf8.allSatisfy(isNameByte)
  }

  /// Whether a name may have the byte.
  package static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
