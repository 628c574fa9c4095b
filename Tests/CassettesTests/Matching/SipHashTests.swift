import Testing

@testable import Cassettes

@Suite("SipHash")
struct SipHashTests {
  // From the paper's reference implementation: key 00 01 … 0f, input 00 01 …, 128 bits of output.
  @Test(
    "gives the published values",
    arguments: [(0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45")])
  func published(_ count: Int, _ expected: String) {
    var hash = SipHash(key0: 0x0706_0504_0302_0100, key1: 0x0F0E_0D0C_0B0A_0908)
    for byte in 0..<count { hash.append(UInt8(byte)) }
    let (first, second) = hash.finish()
    let bytes = [first, second].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(hex == expected)
  }

  @Test("does not depend on where the bytes are cut")
  func cuts() {
    var generator = SeededGenerator(9)
    for _ in 0..<500 {
      let bytes = (0..<generator.upTo(60)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      var whole = SipHash()
      bytes.withUnsafeBytes { whole.append($0) }
      var pieces = SipHash()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(1 + generator.upTo(20))
        rest = rest.dropFirst(piece.count)
        if piece.count == 1 {
          pieces.append(piece[piece.startIndex])
        } else {
          piece.withUnsafeBytes { pieces.append($0) }
        }
      }
      #expect(whole.finish() == pieces.finish())
    }
  }
}
