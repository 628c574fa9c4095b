import Transforms
import Cassettes

/// Dates in bodies and request targets.
enum Dates {
  static func move(_ bytes: [UInt8]) throws {
    var places = DatePlaces()
    for place in ["$..exp", "query:since"] { try places.add(place, .epochSeconds) }
    try places.add("$..ms", .epochMilliseconds)
    try places.add("$..day", .day)
    try places.add("$..keep", .kept)
    let offset = DateOffset(seconds: 256_386_600, days: 2967)
    let signer = TokenSigner { _, _, message in Array(message.suffix(32)) }
    for shifter in [DateShifter(offset), DateShifter(offset, places: places, signer: signer)] {
      for form in [DateShifter.BodyForm.json, .jsonLines, .text] {
        let whole = shifter.body(bytes, form)
        var stream = shifter.body(form)
        var pieces: [UInt8] = []
        for byte in bytes { pieces += stream.push([byte]) }
        pieces += stream.finish()
        precondition(pieces == whole, "the result differs for a body in single bytes")
        precondition(
          !stream.keepsLength || whole.count == bytes.count, "a body changes its length against keepsLength")
      }
      let target = String(decoding: bytes, as: UTF8.self)
      _ = shifter.reversed.target(shifter.target(target))
    }
  }
}
