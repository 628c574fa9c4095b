/// The body of `POST {control}/acknowledge`, sent by an app that follows its environment: it has applied a step, or
/// reports its number of sleepers.
package struct Acknowledgement: Codable, Sendable, Equatable {
  /// The name that the app uses when it requests the state.
  package var follower: String
  /// The step that has been applied, including all earlier ones.
  package var revision: Int?
  /// The time of the app's clock after the step, in RFC 3339.
  package var now: String?
  /// The number of sleepers that the step woke.
  package var woken: Int?
  /// Why the step could not be applied.
  package var error: String?
  /// The watch to which `sleepers` belongs.
  package var watch: Int?
  /// The number of sleepers.
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
  /// Whether this is a valid app name: 1 to 100 letters, digits, `.`, `_` and `-`.
  package static func isName(_ text: String) -> Bool {
    1...100 ~= text.utf8.count && text.utf8.allSatisfy(isNameByte)
  }

  /// Whether a name may contain the byte.
  package static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
