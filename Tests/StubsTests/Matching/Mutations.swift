import Foundation

/// Texts that come from others by small changes, the same in every run.
struct Mutations {
  private var state: UInt64 = 0x5EED

  private mutating func random(below count: Int) -> Int {
    // xorshift64
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(max(1, count)))
  }

  /// One of the texts after one to four changes: bytes are replaced, removed, repeated or taken from another text.
  mutating func next(of texts: [String]) -> String {
    var bytes = Array(texts[random(below: texts.count)].utf8)
    for _ in 0...random(below: 4) {
      guard !bytes.isEmpty else { break }
      let place = random(below: bytes.count)
      switch random(below: 5) {
      case 0: bytes[place] = UInt8(random(below: 128))
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(bytes[random(below: bytes.count)], at: place)
      case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 8)], at: place)
      default:
        let other = Array(texts[random(below: texts.count)].utf8)
        bytes.replaceSubrange(place..., with: other.suffix(random(below: other.count + 1)))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Runs a body on a thread with a stack of 512 KiB, which is what threads have on macOS.
func onSmallStack(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Result(catching: body)) }
    thread.stackSize = 512 << 10
    thread.start()
  }
}

extension String {
  /// A text inside of `count` nested pairs.
  static func nested(_ count: Int, _ opening: String, _ text: String, _ closing: String) -> String {
    String(repeating: opening, count: count) + text + String(repeating: closing, count: count)
  }
}
