import Cassettes
import HTTPMessages
import Transforms

/// Puts values of the app's messages into the recorded messages of a server.
///
/// A value is known from the message that carries it, and replaced in all later messages of the server, until the app
/// sends another one where the same value was recorded.
struct MessageEchoes: Sendable {
  private let frames: [WebSocketFrame]
  private let places: EchoPlaces
  private let warnings: EchoWarnings.Answer
  private var table: EchoTable
  /// The values that are only ignored, to warn if the server's messages contain them.
  private var ignored = EchoTable()
  /// How many more messages are searched for ignored values.
  private var searches = 100

  /// - Parameters:
  ///   - frames: the recorded messages.
  ///   - places: the places whose values the rules echo or ignore.
  ///   - warnings: receives the ignored values that the server's messages contain.
  ///   - table: the values of the handshake.
  init(_ frames: [WebSocketFrame], places: EchoPlaces, warnings: EchoWarnings.Answer, table: EchoTable) {
    self.frames = frames
    self.places = places
    self.warnings = warnings
    self.table = table
  }

  /// Takes the values of a message from the app.
  ///
  /// - Parameters:
  ///   - message: the message in the upstream's terms, with its dates in the recording's time.
  ///   - index: the index of the recorded message that is equal by the rules.
  mutating func learn(_ message: WebSocketMessage, recordedAs index: Int?) {
    guard !places.isEmpty, let index else { return }
    for value in places.values(frames[index].message, message) {
      if value.place.isEchoed { table.add(value) } else { ignored.add(value) }
    }
  }

  /// Puts the values into messages of the server.
  mutating func apply(to due: [WebSocketPlayback.Due]) -> [WebSocketPlayback.Due] {
    guard !table.isEmpty || !ignored.isEmpty else { return due }
    return due.map { one in
      var one = one
      if !ignored.isEmpty, searches > 0 {
        searches -= 1
        var found = EchoFindings()
        _ = ignored.message(one.message, &found)
        warnings.note(found)
      }
      if !table.isEmpty {
        var found = EchoFindings()
        one.message = table.message(one.message, &found)
        warnings.note(unsigned: found)
      }
      return one
    }
  }
}
