import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Ordinal ranges")
struct OrdinalRangesTests {
  @Test("agree with a set, in any order of insertion")
  func set() {
    for _ in 0..<200 {
      var ranges = OrdinalRanges()
      var set: Set<Int> = []
      for _ in 0..<Int.random(in: 1...60) {
        let low = Int.random(in: 0...40)
        let high = Bool.random() ? low : low + Int.random(in: 0...8)
        if low == high { ranges.insert(low) } else { ranges.insert(low...high) }
        set.formUnion(low...high)
      }
      #expect((0...60).allSatisfy { ranges.contains($0) == set.contains($0) })
      #expect(ranges.count == set.count)
      // As few ranges as possible, with a gap between each two.
      #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
    }
  }

  @Test("accept the smallest and the largest integer")
  func ends() {
    var ranges = OrdinalRanges([.max ... .max, .min ... .min])
    ranges.insert(.max)
    ranges.insert(.min)
    #expect(ranges.ranges == [.min ... .min, .max ... .max])
    ranges.insert(.min ... .max)
    #expect(ranges.ranges == [.min ... .max])
    #expect(ranges.count == .max)
    #expect(OrdinalRanges([.min ... -5, 3 ... .max]).count == .max)
    #expect(OrdinalRanges([0 ... .max]).count == .max)
    #expect(OrdinalRanges([0...4, 8...8]).count == 6)
  }

  @Test("are pairs in JSON; anything else is rejected")
  func json() throws {
    let ranges = OrdinalRanges([5...9, 0...3, 4...4, 12...12])
    #expect(String(decoding: try JSON.encode(ranges), as: UTF8.self) == "[[0,9],[12,12]]")
    #expect(try JSONDecoder().decode(OrdinalRanges.self, from: Data("[[12,12],[0,9]]".utf8)) == ranges)
    for text in [
      "[[2,1]]", "[[1]]", "[1]", "{}", "[[0,-5]]", "[[0,1,2]]", "[[0,9223372036854775808]]",
    ] {
      #expect(throws: (any Error).self) { try JSONDecoder().decode(OrdinalRanges.self, from: Data(text.utf8)) }
    }
  }
}
