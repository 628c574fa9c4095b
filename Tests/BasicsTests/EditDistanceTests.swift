import Basics
import Testing

@Suite("Edit distances")
struct EditDistanceTests {
  @Test(
    "count insertions, deletions and replacements",
    arguments: [
      ("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("replay", "repaly", 2), ("\u{E9}", "e\u{301}", 0),
    ])
  func distances(_ left: String, _ right: String, _ distance: Int) {
    #expect(EditDistance.between(left, right) == distance)
    #expect(EditDistance.between(right, left) == distance)
  }

  @Test("rank words, ties by name")
  func nearest() {
    #expect(EditDistance.nearest(to: "mods", among: ["none", "mode", "modes", "clock"]) == ["mode", "modes", "none"])
  }
}
