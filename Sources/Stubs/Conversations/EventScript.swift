package import Basics

/// A server-sent event (WHATWG HTML, 9.2), or a comment.
///
/// ```swift
/// let event = ServerSentEvent(name: "booked", data: #"{"at": "09:00"}"#)
/// event.encoded(id: "7")  // id: 7, event: booked, data: {"at": "09:00"}, and an empty line
/// ```
package struct ServerSentEvent: Sendable, Equatable {
  /// The id; nil for the next number of the stream.
  package var id: String?
  /// The type of the event; nil for `message`.
  package var name: String?
  /// The text. Each line becomes a `data` field.
  package var data: String?
  /// The time in milliseconds before the client reconnects.
  package var retry: Int?
  package var comment: String?

  package init(
    id: String? = nil, name: String? = nil, data: String? = nil, retry: Int? = nil, comment: String? = nil
  ) {
    self.id = id
    self.name = name
    self.data = data
    self.retry = retry
    self.comment = comment
  }

  /// Reads an event's members: `data`, `event`, `id`, `retry` and `comment`. Nil if none of them is given.
  ///
  /// - Parameter members: the object; its owner calls `end()`.
  /// - Throws: ``CodedError`` that names the member.
  package init?(_ members: Members) throws(CodedError) {
    id = try members.string("id")
    name = try members.string("event")
    if let json = members["data"] { data = json.string ?? String(decoding: json.encoded(), as: UTF8.self) }
    retry = try members.int("retry", in: 0...Int(Int32.max))
    comment = try members.string("comment")
    if name != nil, data == nil {
      throw members.error("event", "clients ignore an event without data; add 'data', which may be \"\"")
    }
    for (member, text) in [("id", id), ("event", name)] {
      guard text?.contains(where: { $0.isNewline || $0 == "\0" }) == true else { continue }
      throw members.error(member, "has a line break or a null character, which this field cannot contain")
    }
    if self == ServerSentEvent() { return nil }
  }

  /// The fields of the event and the empty line that ends it.
  ///
  /// - Parameter id: the event's id; nil for none.
  /// - Returns: the bytes, in UTF-8.
  package func encoded(id: String?) -> [UInt8] {
    var text = ""
    for line in Self.lines(comment) { text += ": \(line)\n" }
    if let id { text += "id: \(id)\n" }
    if let name { text += "event: \(name)\n" }
    if let retry { text += "retry: \(retry)\n" }
    for line in Self.lines(data) { text += "data: \(line)\n" }
    return Array((text + "\n").utf8)
  }

  /// The lines of a text. As in the event stream format, they end at CR LF, LF or CR.
  private static func lines(_ text: String?) -> [Substring] {
    text?.split(omittingEmptySubsequences: false) { ["\r\n", "\n", "\r"].contains($0) } ?? []
  }
}

/// What a stub sends to each client of an event stream.
///
/// In mapping files, it is the member `events` of a response:
///
/// ```json
/// {"events": [{"data": {"state": "waiting"}}, {"event": "called", "data": "room 3", "delayMilliseconds": 500}]}
/// ```
///
/// Without `{"close": true}` at its end, the stream stays open, and tests can send more events.
package struct EventScript: Sendable {
  package enum Action: Sendable {
    case send(ServerSentEvent)
    /// Ends the stream.
    case close
    /// Waits for the delay.
    case wait
  }

  fileprivate typealias Field = any WritableKeyPath<ServerSentEvent, String?> & Sendable

  package struct Step: Sendable {
    /// In milliseconds.
    package var delay: Double
    package var action: Action
    /// The number of the event, from 1; nil without data.
    package var number: Int?
    fileprivate var templates: [(field: Field, text: Template)] = []

    /// The event with its templates filled in, and its id.
    package func rendered(_ context: TemplateContext) throws(CodedError) -> (event: ServerSentEvent, id: String?)? {
      guard case .send(var event) = action else { return nil }
      for (field, text) in templates { event[keyPath: field] = try text.render(context) }
      // A line break in a request would otherwise add fields to the event.
      for field in [\ServerSentEvent.id, \.name] {
        event[keyPath: field] = event[keyPath: field].map { String($0.map { $0.isNewline ? " " : $0 }) }
      }
      return (event, event.id ?? number.map(String.init))
    }
  }

  package private(set) var steps: [Step] = []
  /// How many events have data, and therefore a number.
  package private(set) var count = 0

  /// - Parameters:
  ///   - elements: the elements of `events`, with their places.
  ///   - isTemplate: whether the texts are templates.
  /// - Throws: ``CodedError`` that names the member.
  init(_ elements: [(json: JSON, place: String)], isTemplate: Bool) throws(CodedError) {
    for element in elements {
      let members = try Members(element.json, at: element.place)
      let delay = try members.milliseconds("delayMilliseconds")
      let closes = try members.bool("close") ?? false
      let event = try ServerSentEvent(members)
      try members.end()
      if let last = steps.last, case .close = last.action {
        throw CodedError(
          .broken, "follows the end of the stream; remove it, or the 'close' before it", at: members.place)
      }
      guard let event else {
        guard closes || delay != nil else {
          throw CodedError(.broken, "is empty; add 'data', 'delayMilliseconds' or \"close\": true", at: members.place)
        }
        steps.append(Step(delay: delay ?? 0, action: closes ? .close : .wait))
        continue
      }
      guard !closes else {
        throw members.error("close", "an event is also given; put \"close\": true in its own element")
      }
      var step = Step(delay: delay ?? 0, action: .send(event))
      if event.data != nil {
        count += 1
        step.number = count
      }
      if isTemplate {
        let fields: [(Field, String)] = [
          (\.id, "id"), (\.name, "event"), (\.data, "data"), (\.comment, "comment"),
        ]
        for (field, name) in fields {
          guard let text = event[keyPath: field] else { continue }
          step.templates.append((field, try Template(text, name: "\(members.place).\(name)")))
        }
      }
      steps.append(step)
    }
  }
}
