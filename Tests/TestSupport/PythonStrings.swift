package import Foundation

/// The algorithm `uuid5-v1` in Python: INTERFACE.md promises that the standard library of another language computes the
/// same values.
package enum PythonStrings {
  /// A request in the JSON of `diorama strings --batch`; `outputs` is the number of values to take from a generator.
  private struct Request: Encodable {
    var seed: String
    var key: String
    var ordinal: Int
    var type: String?
    var length: Int?
    var alphabet: String?
    var domain: String?
    var version4: Bool?
    var low: Int64?
    var high: Int64?
    var options: [String]?
    var count: Int?
    var outputs: Int?
  }

  /// Random requests of these types, one JSON document per line.
  package static func requests(_ count: Int, types: [String]) throws -> [Data] {
    try (0..<count).map { index in
      var request = Request(
        seed: Bool.random() ? word() : "", key: word(),
        ordinal: Bool.random() ? Int.random(in: 0...2_000) : Int.random(in: 0 ... .max))
      let type = types[index % types.count]
      if type != "string" { request.type = type }
      switch type {
      case "string":
        request.length = Int.random(in: 0...80)
        request.alphabet = alphabet()
      case "email":
        request.length = Int.random(in: 1...64)
        request.domain = ["example.com", "пример.example", "a.b"].randomElement()
      case "uuid": request.version4 = Bool.random()
      case "integer": (request.low, request.high) = range()
      case "choice" where Bool.random(), "shuffle" where Bool.random():
        request.options = (0...Int.random(in: 0...40)).map { "\($0) \(word())" }
      case "choice": request.count = Bool.random() ? Int.random(in: 1...100) : Int.random(in: 1 ... .max)
      case "shuffle": request.count = Int.random(in: 0...60)
      default: request.outputs = Int.random(in: 0...20)
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(request)
    }
  }

  /// Python's results; those of a generator are numbers separated by commas.
  package static func answers(to requests: [Data]) async throws -> [String] {
    let input = Array(requests.joined(separator: [0x0A]))
    let outcome = try await onThread {
      try Child(
        ["python3", "-c", program].map { Array($0.utf8) }, environment: ProcessInfo.processInfo.environment,
        input: .bytes(input)
      ).finish()
    }
    return try JSONDecoder().decode([String].self, from: Data(outcome.output))
  }

  private static func word() -> String {
    let words = [
      "email", "ключ", "naïve 🙂", "日本", "a/b?c", "key \u{A0}", "e\u{301}", "import\u{25B8}x", "\\", "\u{10FFFD}",
    ]
    return (words.randomElement() ?? "") + String(Int.random(in: 0...99_999))
  }

  /// 2 to 256 scalars, of one script or of all planes.
  private static func alphabet() -> String {
    let count = Int.random(in: 2...256)
    let first = UInt32.random(in: 0x21...0x2000)
    let isMixed = Bool.random()
    var letters = String.UnicodeScalarView()
    while letters.count < count {
      let value = isMixed ? UInt32.random(in: 0...0x10FFFF) : first + UInt32(letters.count)
      if let scalar = Unicode.Scalar(value) { letters.append(scalar) }
    }
    return String(letters)
  }

  private static func range() -> (Int64, Int64) {
    func end() -> Int64 {
      let shift = Int64.random(in: 0...62)
      return [.min, .max, .min + 1, .max - 1, -1, 0, 1, Int64.random(in: .min ... .max) >> shift].randomElement() ?? 0
    }
    let ends = [end(), end()]
    return (min(ends[0], ends[1]), max(ends[0], ends[1]))
  }

  private static let program = """
    import json, sys, uuid
    ROOT = uuid.UUID("6f0c9f2e-3b1d-5c58-9d0f-8a4be1c5d7a2")
    LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
    def row(space, call):
        i = 0
        while True:
            block = uuid.uuid5(space, "%s\\x1f%d\\x1f%d" % (call["key"], call["ordinal"], i)).bytes
            yield from (b for n, b in enumerate(block) if n not in (6, 8))
            i += 1
    def eight(bytes_):
        return int.from_bytes(bytes(next(bytes_) for _ in range(8)), "big")
    def text(bytes_, letters, length):
        found = ""
        while len(found) < length:
            byte = next(bytes_)
            if byte < 256 - 256 % len(letters):
                found += letters[byte % len(letters)]
        return found
    def integer(bytes_, low, high):
        width = high - low + 1
        while True:
            x = eight(bytes_)
            if x < 2 ** 64 - 2 ** 64 % width:
                return low + x % width
    def value(call):
        space = uuid.uuid5(ROOT, call["seed"])
        bytes_, kind = row(space, call), call.get("type", "string")
        count = call.get("count", len(call.get("options", [])))
        if kind == "string":
            return text(bytes_, call["alphabet"], call["length"])
        if kind == "email":
            return text(bytes_, LETTERS, call["length"]) + "@" + call["domain"]
        if kind == "integer":
            return str(integer(bytes_, call["low"], call["high"]))
        if kind == "choice":
            place = integer(bytes_, 0, count - 1)
            return call["options"][place] if "options" in call else str(place)
        if kind == "shuffle":
            places = list(range(count))
            for i in range(count - 1, 0, -1):
                j = integer(bytes_, 0, i)
                places[i], places[j] = places[j], places[i]
            return ",".join(map(str, places))
        if kind == "generator":
            return ",".join(str(eight(bytes_)) for _ in range(call["outputs"]))
        name = uuid.uuid5(space, "%s\\x1f%d" % (call["key"], call["ordinal"]))
        return str(uuid.UUID(int=name.int & ~(15 << 76) | 4 << 76) if call["version4"] else name)
    json.dump([value(json.loads(line)) for line in sys.stdin.buffer.read().split(b"\\n")], sys.stdout)
    """
}
