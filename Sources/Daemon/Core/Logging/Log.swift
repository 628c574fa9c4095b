import Foundation
import HTTPMessages
import LaunchContract

/// What the daemon has to say of itself: one line of JSON an event.
///
/// In the shape of swift-log, which cannot be had where this is built, and to be replaced by it when it can be. What
/// must stay secret is a `Secret`, and shows as `<secret>` here as everywhere.
///
/// ```swift
/// let log = Log(level: .info).with(["environment": "…"])
/// log.info("the environment has ended", ["cause": "owner"])
/// // {"time":"…","level":"info","message":"the environment has ended","cause":"owner","environment":"…"}
/// ```
package struct Log: Sendable {
  /// How much an event matters.
  package enum Level: String, CaseIterable, Comparable, Codable, Sendable {
    case trace, debug, info, notice, warning, error, critical

    package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// What an event is about, by name.
  package typealias Metadata = [String: LogValue]

  /// Events below it are not written.
  package let level: Level
  private let metadata: Metadata
  private let write: @Sendable ([UInt8]) -> Void

  /// - Parameters:
  ///   - level: events below it are not written.
  ///   - write: takes a line with its newline; by default standard error does.
  package init(level: Level = .info, write: @escaping @Sendable ([UInt8]) -> Void = { StandardError.write($0) }) {
    self.level = level
    metadata = [:]
    self.write = write
  }

  private init(_ log: Log, metadata: Metadata) {
    level = log.level
    write = log.write
    self.metadata = metadata
  }

  /// The same log, whose every line also says this.
  package func with(_ more: Metadata) -> Log { Log(self, metadata: metadata.merging(more) { $1 }) }

  package func debug(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.debug, message(), more) }
  package func info(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.info, message(), more) }
  package func notice(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.notice, message(), more) }
  package func warning(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.warning, message(), more) }
  package func error(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.error, message(), more) }

  package func critical(_ message: @autoclosure () -> String, _ more: Metadata = [:]) {
    log(.critical, message(), more)
  }

  /// Writes an event.
  ///
  /// - Parameters:
  ///   - level: how much it matters.
  ///   - message: what has happened; the same words each time, what differs is metadata.
  ///   - more: what it is about.
  package func log(_ level: Level, _ message: @autoclosure () -> String, _ more: Metadata = [:]) {
    guard level >= self.level else { return }
    var line = "{\"time\":\(Self.quoted(RFC3339.format(Date()))),\"level\":\"\(level.rawValue)\""
    line += ",\"message\":\(Self.quoted(message()))"
    let all = metadata.merging(more) { $1 }
    for (name, value) in all.sorted(by: { $0.key < $1.key }) where !["time", "level", "message"].contains(name) {
      line += ",\(Self.quoted(name)):"
      switch value {
      case .string(let text): line += Self.quoted(text)
      case .int(let number): line += String(number)
      }
    }
    write(Array("\(line)}\n".utf8))
  }

  private static func quoted(_ text: String) -> String {
    (try? ContractJSON.encode(text)).map { String(decoding: $0, as: UTF8.self).escapedJSONForTerminal } ?? "\"\""
  }
}

/// A value of an event's metadata.
package enum LogValue: Sendable, Equatable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
  case string(String)
  case int(Int)

  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .int(value) }
}
