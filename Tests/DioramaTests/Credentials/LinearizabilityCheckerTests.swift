import CredentialConcurrency
import Foundation
import Testing

@Suite("Linearizability checks")
struct LinearizabilityCheckerTests {
  private static let (one, two) = (Data("1".utf8), Data("2".utf8))

  private func step(
    _ begin: Int, _ end: Int, _ effect: LinearizabilityChecker.Step.Effect, found: Bool = true, value: Data? = nil
  ) -> LinearizabilityChecker.Step {
    .init(begin: begin, end: end, effect: effect, found: found, value: value)
  }

  @Test("accepts sequential calls that each see the effects of the earlier ones")
  func inTurn() {
    let steps = [
      step(1, 2, .read, found: false), step(3, 4, .add(Self.one), found: true),
      step(5, 6, .add(Self.two), found: false),
      step(7, 8, .read, value: Self.one), step(9, 10, .update(Self.two)), step(11, 12, .read, value: Self.two),
      step(13, 14, .list), step(15, 16, .delete), step(17, 18, .delete, found: false),
      step(19, 20, .list, found: false), step(21, 22, .set(Self.one)), step(23, 24, .read, value: Self.one),
    ]
    #expect(LinearizabilityChecker.contradiction(in: steps) == nil)
  }

  @Test("accepts an order that follows neither the begins nor the ends")
  func overlapping() {
    // The deletion begins first and ends last, but comes between the two additions.
    let steps = [
      step(1, 9, .delete), step(2, 3, .add(Self.one)), step(4, 8, .add(Self.two)), step(5, 6, .read, value: Self.two),
    ]
    #expect(LinearizabilityChecker.contradiction(in: steps) == nil)
  }

  @Test("rejects two successful adds in a row")
  func lostExclusion() {
    let steps = [step(1, 3, .add(Self.one)), step(2, 4, .add(Self.two))]
    #expect(LinearizabilityChecker.contradiction(in: steps)?.step == 1)
  }

  @Test("rejects a stale read and a read of a value that was never written")
  func stale() {
    let stale = [step(1, 2, .set(Self.one)), step(3, 4, .set(Self.two)), step(5, 6, .read, value: Self.one)]
    #expect(LinearizabilityChecker.contradiction(in: stale)?.step == 2)
    let invented = [step(1, 4, .set(Self.one)), step(2, 3, .read, value: Self.two)]
    #expect(LinearizabilityChecker.contradiction(in: invented)?.step == 1)
  }

  @Test("rejects reads that see two writes in different orders")
  func disagreeing() {
    let steps = [
      step(1, 20, .set(Self.one)), step(2, 21, .set(Self.two)), step(3, 4, .read, value: Self.one),
      step(5, 6, .read, value: Self.two), step(7, 8, .read, value: Self.one),
    ]
    #expect(LinearizabilityChecker.contradiction(in: steps)?.step == 4)
  }

  @Test("rejects an update that restores a deleted credential")
  func revived() {
    // The update checks for the key, another thread deletes it, then the update writes.
    let steps = [
      step(1, 2, .add(Self.one)), step(3, 8, .update(Self.two)), step(4, 5, .delete),
      step(9, 10, .read, value: Self.two),
    ]
    #expect(LinearizabilityChecker.contradiction(in: steps)?.step == 3)
  }

  @Test("rejects a list that lacks an existing key")
  func list() {
    let steps = [step(1, 2, .add(Self.one)), step(3, 4, .list, found: false)]
    #expect(LinearizabilityChecker.contradiction(in: steps)?.step == 1)
  }
}
