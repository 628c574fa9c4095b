import Basics
import Cassettes
import GRPCSchemas
import HTTPMessages

/// Redacts the messages of a gRPC body while it streams.
struct MessageRedactor {
  private let messages: MessageRedaction
  private var stream: MessageStream
  private(set) var found = FoundFields()

  /// The result is nil if there is nothing to do.
  ///
  /// - Parameters:
  ///   - codec: the body's codec.
  ///   - redactor: the secrets and rules.
  ///   - keepsClaims: whether a JSON Web Token in a field that is redacted by default loses only its signature.
  init?(_ codec: MessageCodec?, _ redactor: Redactor, keepsClaims: Bool) {
    guard let codec else { return nil }
    let rules = redactor.rules
    guard codec.converts || codec.mayBeCompressed || !rules.json.isEmpty else { return nil }
    messages = MessageRedaction(codec: codec, redactor: redactor, keepsClaims: keepsClaims)
    stream = MessageStream(codec)
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    let messages = messages
    var found = found
    defer { self.found = found }
    let clean = stream.push(chunk, isLast: isLast) { messages.redacted($0, &found) }
    if stream.hasPassedOther {
      found.add(
        problem: "bytes that are not complete gRPC messages, or a message of more than 64 MiB and all after it, were "
          + "recorded without redaction of fields and of compressed messages; check the recording for secrets")
    }
    return clean
  }
}

/// Redacts gRPC messages: fields by their place in the JSON form of the message, and in compressed messages also credentials
/// and patterns, which elsewhere the scan of the whole body covers.
private struct MessageRedaction {
  let codec: MessageCodec
  let redactor: Redactor
  let keepsClaims: Bool

  /// The message without secrets; nil if it has none.
  func redacted(_ message: GRPCMessage, _ found: inout FoundFields) -> GRPCMessage? {
    let plain: [UInt8]
    do { plain = try codec.payload(of: message) } catch {
      found.add(
        problem: "a compressed message was recorded without redaction, since it cannot be decompressed (\(error)); "
          + "turn off compression in the client or server, and re-record")
      return nil
    }
    var payload = plain
    if message.isCompressed {
      var secrets = SecretStream(redactor.secrets, .filled)
      var patterns = PatternStream(redactor.rules.patterns, .filled)
      payload = patterns.push(secrets.push(payload, isLast: true), isLast: true)
      found.hasMatch = found.hasMatch || secrets.hasFound || patterns.hasFound
    }
    payload = withoutFields(payload, &found)
    // A changed message is sent without compression, which gRPC permits for each message.
    return payload == plain ? nil : GRPCMessage(payload)
  }

  /// Redacts the fields that rules and the defaults name.
  private func withoutFields(_ payload: [UInt8], _ found: inout FoundFields) -> [UInt8] {
    let rules = redactor.rules
    guard codec.converts else {
      if !rules.json.isEmpty {
        found.add(
          problem: "JSON fields of its messages were not redacted, since their schema is not known; name the service's "
            + ".proto file with --proto")
      }
      return payload
    }
    do throws(CodedError) {
      guard let json = try codec.json(payload) else { return payload }
      let text = Array(json.text.utf8)
      guard !rules.json.isEmpty || rules.secretJSON.mayOccur(inJSON: text) else { return payload }
      var fields = JSONStream(
        paths: rules.json, secret: rules.secretJSON, keepsClaims: keepsClaims, patterns: .none)
      let clean = fields.push(text, isLast: true)
      guard clean != text else { return payload }
      found.add(fields.found)
      if !json.unknownFields.isEmpty {
        found.add(
          problem: "a redacted message lost the fields \(json.unknownFields.joined(separator: ", ")), which its schema "
            + "does not have; update the .proto file, and re-record")
      }
      return encoded(clean, insteadOf: text, &found)
    } catch {
      if !rules.json.isEmpty {
        found.add(
          problem: "JSON fields of a message were not redacted, since it does not fit its schema (\(error.problem)); "
            + "update the .proto file, and re-record")
      }
      return payload
    }
  }

  /// Encodes redacted JSON. A value that cannot hold a mark, such as an enum or a time, becomes zero or empty.
  private func encoded(_ clean: [UInt8], insteadOf text: [UInt8], _ found: inout FoundFields) -> [UInt8] {
    if let payload = try? codec.payload(fromJSON: String(decoding: clean, as: UTF8.self)) { return payload }
    if let original = try? JSON.parse(text), let redacted = try? JSON.parse(clean) {
      let places = Self.marked(original, redacted)
      // Each trial encodes the whole message.
      let isMany = places.count > 100
      var value = isMany ? Self.withoutMarks(original, redacted) : redacted
      for place in isMany ? [] : places {
        // Only this place differs from a message that is known to be valid.
        let fits = Self.replacements.first { replacement in
          (try? codec.payload(fromJSON: Self.text(original.replacing(at: place[...], with: replacement)))) != nil
        }
        value = value.replacing(at: place[...], with: fits ?? .null)
      }
      if let payload = try? codec.payload(fromJSON: Self.text(value)) { return payload }
    }
    found.add(
      problem:
        "a message was recorded empty, since it cannot be encoded with its fields redacted; check its redaction rules")
    return []
  }

  /// In the order in which they are tried: for texts, for enums and numbers in strings, for bytes, for other messages.
  private static let replacements: [JSON] = [
    .string(RedactionMark.plain.text), .number("0"), .string(""), .null,
  ]

  private static func text(_ value: JSON) -> String { String(decoding: value.encoded(), as: UTF8.self) }

  /// Redacted JSON with null in place of the strings that redaction has changed.
  private static func withoutMarks(_ original: JSON, _ redacted: JSON) -> JSON {
    switch (original, redacted) {
    case (.object(let members), .object(var others)):
      for index in others.indices where index < members.count {
        others[index].value = withoutMarks(members[index].value, others[index].value)
      }
      return .object(others)
    case (.array(let elements), .array(let others)): return .array(zip(elements, others).map(withoutMarks))
    case (.string, .string) where original != redacted: return .null
    default: return redacted
    }
  }

  /// The places of the strings that redaction has changed, as indices of members and elements.
  private static func marked(_ original: JSON, _ redacted: JSON) -> [[Int]] {
    var places: [[Int]] = []
    var pairs: [(JSON, JSON, [Int])] = [(original, redacted, [])]
    while let (one, other, place) = pairs.popLast() {
      switch (one, other) {
      case (.object(let members), .object(let others)):
        for (index, pair) in zip(members, others).enumerated() {
          pairs.append((pair.0.value, pair.1.value, place + [index]))
        }
      case (.array(let elements), .array(let others)):
        for (index, pair) in zip(elements, others).enumerated() { pairs.append((pair.0, pair.1, place + [index])) }
      case (.string, .string) where one != other: places.append(place)
      default: break
      }
    }
    return places
  }
}

extension JSON {
  /// The value with another one in it.
  ///
  /// - Parameters:
  ///   - place: the indices of members and elements that lead to the value.
  ///   - replacement: the new value.
  /// - Returns: the changed value.
  fileprivate func replacing(at place: ArraySlice<Int>, with replacement: JSON) -> JSON {
    guard let index = place.first else { return replacement }
    switch self {
    case .object(var members):
      members[index].value = members[index].value.replacing(at: place.dropFirst(), with: replacement)
      return .object(members)
    case .array(var elements):
      elements[index] = elements[index].replacing(at: place.dropFirst(), with: replacement)
      return .array(elements)
    default: return self
    }
  }
}
