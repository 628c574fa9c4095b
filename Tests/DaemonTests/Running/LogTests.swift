import Basics
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import Daemon

@Suite("Daemon log")
struct LogTests {
  private static func lines(level: Log.Level, _ body: (Log) -> Void) throws -> [[String: String]] {
    let written = Guarded<[UInt8]>([])
    body(Log(level: level) { line in written.withLock { $0 += line } })
    return try written.withLock { $0 }.split(separator: UInt8(ascii: "\n")).map { line in
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
      return object.mapValues { "\($0)" }
    }
  }

  @Test("writes one line of JSON per event")
  func lines() throws {
    let lines = try Self.lines(level: .info) { log in
      log.with(["environment": "e"]).info("said \"so\"\nand so", ["port": 5, "level": "no", "text": "a\nb\u{1}"])
      log.error("two")
    }
    try #require(lines.count == 2)
    #expect(lines[0]["message"] == "said \"so\"\nand so")
    #expect(lines[0]["environment"] == "e")
    #expect(lines[0]["port"] == "5")
    #expect(lines[0]["level"] == "info")
    #expect(lines[0]["text"] == "a\nb\u{1}")
    #expect(lines[0]["time"].flatMap(RFC3339.parse) != nil)
    #expect(lines[1]["level"] == "error")
  }

  @Test("escapes control characters")
  func terminals() throws {
    let written = Guarded<[UInt8]>([])
    let text = "a\u{1B}\r\n\u{9B}\u{7F}\u{202E}\u{2028}"
    Log { line in written.withLock { $0 += line } }.info("\(text)", ["\(text)": "\(text)"])
    let line = String(decoding: written.withLock { $0 }, as: UTF8.self)
    let quoted = #""a\u001b\r\n\u009b\u007f\u202e\u2028""#
    #expect(line.hasSuffix("\"message\":\(quoted),\(quoted):\(quoted)}\n"), "\(line)")
  }

  @Test("omits events below its level")
  func levels() throws {
    let lines = try Self.lines(level: .warning) { log in
      log.debug("a")
      log.info("b")
      log.warning("c")
      log.error("d")
    }
    #expect(lines.compactMap { $0["message"] } == ["c", "d"])
  }

  @Test("doesn't reveal secrets")
  func secrets() throws {
    let lines = try Self.lines(level: .info) { log in
      log.info("a token", ["token": "\(Secret("hush"))"])
    }
    #expect(lines.first?["token"] == "<secret>")
  }
}
