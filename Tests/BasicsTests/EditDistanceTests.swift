import Basics
import Testing

@Suite("Edit distances")
struct EditDistanceTests {
  @Test(
    "count insertions, deletions, replacements and swaps",
    arguments: [
      ("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("replay", "repaly", 1), ("\u{E9}", "e\u{301}", 0),
    ])
  func distances(_ left: String, _ right: String, _ distance: Int) {
    #expect(EditDistance.between(left, right) == distance)
    #expect(EditDistance.between(right, left) == distance)
  }

  @Test(
    "name the word that was probably meant",
    arguments: [
      ("shwo", "show"), ("reply", "replay"), ("REPLAY", "replay"), ("recrod", "record"), ("rn", "run"), ("xy", nil),
      ("x", nil), ("foo", nil), ("nonsense", nil), ("", nil), (String(repeating: "replay", count: 20), nil),
    ] as [(String, String?)])
  func likely(_ name: String, _ meant: String?) {
    #expect(EditDistance.likely(name, among: ["show", "run", "record", "replay", "a"]) == meant)
  }

  @Test("rank words, ties by name")
  func nearest() {
    #expect(EditDistance.nearest(to: "mods", among: ["none", "mode", "modes", "clock"]) == ["mode", "modes", "none"])
  }
}
