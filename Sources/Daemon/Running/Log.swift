import Basics
import Foundation
import HTTPMessages
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The daemon's log: one line of JSON per event.
///
/// The API follows swift-log, which could replace it. Pass secrets as `Secret`, which prints as `<secret>`.
///
/// ```swift
/// let log = Log(level: .info).with(["environment": "…"])
/// log.info("environment ended", ["cause": "owner"])
/// // {"time":"…","level":"info","message":"environment ended","cause":"owner","environment":"…"}
/// ```
package struct Log: Sendable {
  /// The severity of an event.
  package enum Level: String, CaseIterable, Comparable, Codable, Sendable {
    case trace, debug, info, notice, warning, error, critical

    package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// Values of an event, by name.
  package typealias Metadata = [String: LogValue]

  /// Less severe events are not logged.
  package let level: Level
  private let metadata: Metadata
  private let write: @Sendable ([UInt8]) -> Void

  /// - Parameters:
  ///   - level: less severe events are not logged.
  ///   - write: receives each line with its newline; by default, writes to standard error.
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

  /// Returns a log that adds metadata to each event.
  package func with(_ more: Metadata) -> Log { Log(self, metadata: metadata.merging(more) { $1 }) }

  package func debug(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.debug, message(), more) }
  package func info(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.info, message(), more) }
  package func notice(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.notice, message(), more) }
  package func warning(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.warning, message(), more) }
  package func error(_ message: @autoclosure () -> String, _ more: Metadata = [:]) { log(.error, message(), more) }

  package func critical(_ message: @autoclosure () -> String, _ more: Metadata = [:]) {
    log(.critical, message(), more)
  }

  /// Logs an event.
  ///
  /// - Parameters:
  ///   - level: the severity.
  ///   - message: a constant message; pass what varies as metadata.
  ///   - more: metadata.
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
    (try? JSON.encode(text)).map { String(decoding: $0, as: UTF8.self).escapedJSONForTerminal } ?? "\"\""
  }
}

/// A value of an event's metadata.
package enum LogValue: Sendable, Equatable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
  case string(String)
  case int(Int)

  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .int(value) }
}

/// Standard error, for the log.
package enum StandardError {
  /// Writes a line, or drops it if the pipe is full, since a stalled reader must not block the daemon.
  package static func write(_ line: [UInt8]) {
    var ready = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
    guard poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else { return }
    // One call per line, so that lines of different threads don't mix.
    _ = line.withUnsafeBytes { Self.write(2, $0) }
  }

  private static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}
