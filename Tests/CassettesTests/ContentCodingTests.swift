import HTTPMessages
import TestSupport
import Testing

@testable import Cassettes

@Suite("Content codings")
struct ContentCodingTests {
  private static let text = "hello hello hello hello"

  private func codings(_ header: String) throws -> ContentCodings {
    try #require(ContentCodings(header: header))
  }

  private static func bytes(hex: String) -> [UInt8] {
    var rest = hex[...]
    var bytes: [UInt8] = []
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  private static func random(_ count: Int, seed: UInt64) -> [UInt8] {
    var generator = SeededGenerator(seed)
    // Half noise, half text, to produce both kinds of blocks.
    return (0..<count).map { index -> UInt8 in
      let isNoise = index / 4096 % 2 == 0
      return isNoise ? UInt8(truncatingIfNeeded: generator.next()) : UInt8(index % 64 + 32)
    }
  }

  @Test(
    "parses codings in the order of application, in any case",
    arguments: [
      ("gzip", [.gzip]), ("x-gzip", [.gzip]), ("GZip", [.gzip]), ("deflate", [.deflate]), ("br", [.brotli]),
      ("", []), ("identity", []), (" gzip ,\tbr", [.gzip, .brotli]), ("identity, gzip,", [.gzip]),
    ] as [(String, [ContentCodings.Coding])])
  func header(_ value: String, _ expected: [ContentCodings.Coding]) throws {
    #expect(try codings(value).codings == expected)
    #expect(try codings(value).isIdentity == expected.isEmpty)
  }

  @Test(
    "rejects unsupported codings",
    arguments: ["zstd", "compress", "gzip, zstd", "gzip br", "aes128gcm"])
  func unknown(_ value: String) {
    #expect(ContentCodings(header: value) == nil)
  }

  @Test(
    "decodes the output of other implementations",
    arguments: [
      ("gzip", "1f8b08000100000002ffcb48cdc9c957c8402701e3513d8d17000000", text),
      ("deflate", "789ccb48cdc9c957c8402701680308b1", text),
      ("deflate", "cb48cdc9c957c8402701", text),
      ("br", "0b028068656c6c6f03", "hello"), ("br", "06", ""),
    ])
  func foreign(_ header: String, _ hex: String, _ expected: String) throws {
    let bytes = Self.bytes(hex: hex)
    #expect(try codings(header).decode(bytes, limit: 1000) == Array(expected.utf8))
    let decoder = try codings(header).decoder()
    var result: [UInt8] = []
    for byte in bytes { result += try decoder.push([byte]) }
    result += try decoder.finish()
    #expect(result == Array(expected.utf8))
  }

  @Test("writes gzip without time and system")
  func gzipHeader() throws {
    let encoded = try codings("gzip").encode(Array(Self.text.utf8))
    #expect(encoded == Self.bytes(hex: "1f8b08000000000000ffcb48cdc9c957c8402701e3513d8d17000000"))
    #expect(try codings("deflate").encode(Array(Self.text.utf8)) == Self.bytes(hex: "789ccb48cdc9c957c8402701680308b1"))
  }

  @Test(
    "encodes deterministically and round-trips",
    arguments: ["gzip", "deflate", "br", "gzip, br", "br, gzip, deflate", "identity"], [0, 1, 1000, 300_000])
  func roundTrip(_ header: String, _ count: Int) throws {
    let body = Self.random(count, seed: UInt64(count))
    let encoded = try codings(header).encode(body)
    #expect(try codings(header).encode(body) == encoded)
    #expect(try codings(header).decode(encoded, limit: count) == body)
  }

  @Test("decodes in reverse order")
  func order() throws {
    let body = Self.random(5000, seed: 3)
    let encoded = try codings("br").encode(codings("gzip").encode(body))
    #expect(try codings("gzip, br").decode(encoded, limit: 5000) == body)
    #expect(throws: BodyError.self) { try codings("br, gzip").decode(encoded, limit: 5000) }
  }

  @Test("decodes and encodes chunks of any size", arguments: ["gzip", "deflate", "br", "deflate, gzip"], 0..<4)
  func streaming(_ header: String, _ seed: Int) throws {
    var generator = SeededGenerator(UInt64(seed))
    let body = Self.random(200_000, seed: UInt64(seed))
    let encoder = try codings(header).encoder()
    let decoder = try codings(header).decoder()
    var result: [UInt8] = []
    var rest = body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 + generator.upTo(20_000))
      rest = rest.dropFirst(piece.count)
      result += try decoder.push(encoder.push(Array(piece), flush: generator.upTo(1) == 0))
    }
    let last = try encoder.finish()
    for byte in last { result += try decoder.push([byte]) }
    result += try decoder.finish()
    #expect(result == body)
  }

  @Test("a flush makes all bytes so far decodable", arguments: ["gzip", "deflate", "br", "gzip, br"])
  func flush(_ header: String) throws {
    let encoder = try codings(header).encoder()
    let decoder = try codings(header).decoder()
    for line in ["first", "second", "third"] {
      let sent = try encoder.push(Array(line.utf8), flush: true)
      #expect(try decoder.push(sent) == Array(line.utf8))
    }
  }

  @Test("concatenated gzip members are one body, and zeros after the last are padding")
  func members() throws {
    let gzip = try codings("gzip")
    let bytes = try gzip.encode(Array("one ".utf8)) + gzip.encode([]) + gzip.encode(Array("two".utf8)) + [0, 0, 0]
    #expect(try gzip.decode(bytes, limit: 100) == Array("one two".utf8))
    let decoder = try gzip.decoder()
    var result: [UInt8] = []
    for byte in bytes { result += try decoder.push([byte]) }
    result += try decoder.finish()
    #expect(result == Array("one two".utf8))
  }

  @Test("reports a truncated body", arguments: ["gzip", "deflate", "br"])
  func truncated(_ header: String) throws {
    let encoded = try codings(header).encode(Self.random(3000, seed: 1))
    for count in [1, 2, 5, 20, encoded.count / 2, encoded.count - 1] {
      let error = #expect(throws: BodyError.self) {
        try codings(header).decode(Array(encoded.prefix(count)), limit: 10_000)
      }
      #expect(error?.description == "the body is not valid \(header): it is truncated")
    }
  }

  @Test("reports a truncated second gzip member")
  func truncatedMember() throws {
    let gzip = try codings("gzip")
    let bytes = try gzip.encode(Array("one".utf8)) + gzip.encode(Array("two".utf8)).dropLast()
    #expect(throws: BodyError.self) { try gzip.decode(bytes, limit: 100) }
  }

  @Test("reports a corrupt body", arguments: ["gzip", "deflate", "br"])
  func corrupt(_ header: String) throws {
    let body = Self.random(3000, seed: 1)
    let noise = #expect(throws: BodyError.self) {
      try codings(header).decode(Array(repeating: 0xFF, count: 64), limit: 10_000)
    }
    #expect(noise?.description.hasPrefix("the body is not valid \(header): it is ") == true)
    let trailing = #expect(throws: BodyError.self) {
      try codings(header).decode(codings(header).encode(body) + [0x7B], limit: 10_000)
    }
    #expect(trailing?.description.contains("corrupt") == true)
    if header != "br" {
      // Both end with a checksum.
      var encoded = try codings(header).encode(body)
      encoded[encoded.count - (header == "gzip" ? 8 : 1)] ^= 1
      #expect(throws: BodyError.self) { try codings(header).decode(encoded, limit: 10_000) }
    }
  }

  @Test(
    "salvages the decodable part of a truncated body or one with trailing bytes",
    arguments: ["gzip", "deflate", "br", "gzip, br"])
  func salvage(_ header: String) throws {
    let body = Self.random(3000, seed: 1)
    let encoder = try codings(header).encoder()
    let begun = try encoder.push(body, flush: true)
    let whole = try begun + encoder.finish()
    for bytes in [whole, begun, Array(whole.dropLast()), whole + Array("}".utf8)] {
      #expect(try codings(header).salvage(bytes, limit: 10_000) == body)
      var decoder = try codings(header).tolerantDecoder()
      var result: [UInt8] = []
      for byte in bytes { result += decoder.push([byte]) }
      result += decoder.finish()
      #expect(result == body && !decoder.isAsSent)
    }
    let half = try #require(try codings(header).salvage(Array(whole.prefix(whole.count / 2)), limit: 10_000))
    #expect(!half.isEmpty && body.starts(with: half))
  }

  @Test("a body that does not match its coding passes through unchanged", arguments: ["gzip", "deflate", "br"])
  func asSent(_ header: String) throws {
    let noise = [UInt8](repeating: 0xFF, count: 64)
    #expect(try codings(header).salvage(noise, limit: 10_000) == nil)
    var decoder = try codings(header).tolerantDecoder()
    var result: [UInt8] = []
    for byte in noise { result += decoder.push([byte]) }
    result += decoder.finish()
    #expect(result == noise && decoder.isAsSent)
  }

  @Test("an empty body decodes to an empty body", arguments: ["gzip", "deflate", "br", "gzip, br"])
  func nothing(_ header: String) throws {
    #expect(try codings(header).decode([], limit: 10) == [])
  }

  @Test("rejects bodies above 64 MiB with an extreme compression ratio", arguments: ["gzip", "deflate", "br"])
  func ratio(_ header: String) throws {
    let encoder = try codings(header).encoder()
    let zeros = [UInt8](repeating: 0, count: 8 << 20)
    var encoded: [UInt8] = []
    for _ in 0..<8 { encoded += try encoder.push(zeros, flush: false) }
    let usual = try encoded + encoder.finish()
    #expect(try codings(header).decode(usual, limit: .max).count == 64 << 20)

    let larger = try codings(header).encoder()
    var bomb: [UInt8] = []
    for _ in 0..<9 { bomb += try larger.push(zeros, flush: false) }
    bomb += try larger.finish()
    #expect(throws: BodyTooLarge.self) { try codings(header).decode(bomb, limit: .max) }
    #expect(try codings(header).salvage(bomb, limit: .max) == nil)
    var decoder = try codings(header).tolerantDecoder()
    var length = 0
    for start in stride(from: 0, to: bomb.count, by: 1000) {
      length += decoder.push(Array(bomb[start..<min(start + 1000, bomb.count)])).count
    }
    length += decoder.finish().count
    #expect(decoder.isTooLarge && length <= 64 << 20 || decoder.isAsSent && length == bomb.count)
  }

  @Test("rejects bodies above the limit", arguments: ["gzip", "deflate", "br", "gzip, gzip"])
  func limit(_ header: String) throws {
    let encoded = try codings(header).encode([UInt8](repeating: 0, count: 10_000_000))
    #expect(throws: BodyTooLarge.self) { try codings(header).decode(encoded, limit: 9_999_999) }
    #expect(try codings(header).decode(encoded, limit: 10_000_000).count == 10_000_000)
    let decoder = try codings(header).decoder(limit: 50_000)
    #expect(throws: BodyTooLarge.self) {
      for byte in encoded { _ = try decoder.push([byte]) }
    }
  }

  @Test(
    "uses a coding only if the client accepts it",
    arguments: [
      ("gzip", "gzip, deflate, br", true), ("gzip", "GZIP", true), ("gzip", "x-gzip", true), ("x-gzip", "gzip", true),
      ("br", "gzip, deflate", false), ("gzip", "*", true), ("gzip", "*;q=0", false), ("gzip", "gzip;q=0", false),
      ("gzip", "gzip; q=0.000, *", false), ("gzip", "gzip;q=0.001", true), ("gzip", "*;q=0, gzip;q=1", true),
      ("gzip", "identity", false), ("gzip", "", false), ("gzip", nil, false), ("gzip", "gzip;q=no", false),
      ("gzip, br", "gzip", false), ("gzip, br", "br, gzip", true), ("identity", nil, true), ("identity", "gzip", true),
      ("identity", "", true), ("identity", "identity;q=0", false), ("identity", "*;q=0", false),
      ("identity", "*;q=0, identity", true), ("", "br", true),
    ] as [(String, String?, Bool)])
  func acceptance(_ header: String, _ acceptEncoding: String?, _ expected: Bool) throws {
    #expect(ContentCodings.isAccepted(try codings(header), by: acceptEncoding) == expected)
  }
}
