import GRPCSchemas
import HTTPMessages

/// Moves the dates in the messages of a gRPC body while it streams, by their JSON form: times as strings, and declared places.
///
/// A message stays as it is if it has fields that its schema does not know, since it could not be encoded with them. A changed
/// message is sent without compression, which gRPC permits for each message.
struct MessageDates: Sendable {
  private let codec: MessageCodec
  private let dates: DateShifter
  private var stream: MessageStream

  init(_ codec: MessageCodec, _ dates: DateShifter) {
    self.codec = codec
    self.dates = dates
    stream = MessageStream(codec)
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    stream.push(chunk, isLast: isLast) { [codec, dates] message in
      guard let json = try? codec.json(codec.payload(of: message)), json.unknownFields.isEmpty else { return nil }
      let text = Array(json.text.utf8)
      let moved = dates.body(text, .json)
      guard moved != text, let payload = try? codec.payload(fromJSON: String(decoding: moved, as: UTF8.self)) else {
        return nil
      }
      return GRPCMessage(payload)
    }
  }
}
