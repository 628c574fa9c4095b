import Cassettes
import Foundation
package import GRPCSchemas
package import HTTPMessages

/// Moves the dates of recorded responses to another time, and the dates of requests back, for an app whose clock runs.
///
/// Dates in ISO 8601 format with a time, and in HTTP's formats, are recognized anywhere. Other dates are moved if their
/// places are declared. Tokens are moved if a key for them is known.
package struct DateShifter: Sendable {
  /// The structure of a body.
  package enum BodyForm: Sendable, Equatable {
    case json
    /// A JSON document in each line or each event.
    case jsonLines
    /// `name=value` items separated by `&`.
    case form
    /// Multipart form data.
    case multipart(contentType: String)
    case text
  }

  package let offset: DateOffset
  private let places: DatePlaces
  private let tokens: TokenShift?
  private let isBack: Bool
  /// The declared query items, for URLs in headers and bodies.
  private let query: QueryDates?
  /// The schemas of gRPC messages, whose dates are moved by their JSON form; nil if messages stay unchanged.
  package var schemas: GRPCSchemaSet?

  /// - Parameters:
  ///   - offset: the distance by which dates are moved.
  ///   - places: the declared places.
  ///   - signer: signs moved tokens again; nil if tokens stay unchanged.
  package init(_ offset: DateOffset, places: DatePlaces = DatePlaces(), signer: TokenSigner? = nil) {
    self.init(
      offset, places: places, tokens: signer.map { TokenShift($0) }, query: QueryDates(places.query), isBack: false)
  }

  private init(_ offset: DateOffset, places: DatePlaces, tokens: TokenShift?, query: QueryDates?, isBack: Bool) {
    self.offset = offset
    self.places = places
    self.tokens = tokens
    self.query = query
    self.isBack = isBack
  }

  /// The shifter for the opposite direction, from the app's requests to the recording.
  package var reversed: DateShifter {
    var reversed = DateShifter(offset.reversed, places: places, tokens: tokens, query: query, isBack: !isBack)
    reversed.schemas = schemas
    return reversed
  }

  /// Moves the dates in header fields. Relative times such as `Max-Age` stay.
  package func headers(_ headers: Headers) -> Headers {
    var result = headers
    for number in result.fields.indices {
      let field = result.fields[number]
      result.fields[number].value = text(field.value, declared: places.headers[field.name.lowercased()])
    }
    return result
  }

  /// Moves the dates in a request target or a URL.
  package func target(_ target: String) -> String {
    guard let mark = target.firstIndex(of: "?") else { return text(target, declared: nil) }
    return text(String(target[..<mark]), declared: nil) + "?"
      + items(String(target[target.index(after: mark)...]), names: places.query)
  }

  /// Creates a shifter for a body that streams.
  ///
  /// - Parameter form: the form of the body, which must have no content coding.
  /// - Returns: a shifter for one body.
  package func body(_ form: BodyForm) -> BodyShifter {
    let scanner = DateScanner(
      // The items of a form are not query items.
      offset: offset, tokens: tokens, query: form == .form ? nil : query, isBack: isBack, keepsLength: true)
    switch form {
    case .json, .jsonLines:
      guard !places.json.isEmpty else { return BodyShifter(.text(scanner), keepsLength: tokens == nil) }
      let isSized = tokens == nil && places.json.allSatisfy { $0.kind == .day || $0.kind == .kept }
      return BodyShifter(
        .json(PlacedDates(places.json, scanner: scanner, offset: offset, isInLines: form == .jsonLines)),
        keepsLength: isSized)
    case .form, .multipart, .text: return BodyShifter(.text(scanner), keepsLength: tokens == nil)
    }
  }

  /// Creates a shifter for a body of gRPC messages that streams.
  ///
  /// - Parameters:
  ///   - headers: the header fields of the message.
  ///   - path: the path of the request.
  ///   - isRequest: whether the body is the request's.
  /// - Returns: a shifter for one body; nil if it has no such messages, or their schema is not known.
  package func messages(_ headers: Headers, path: String, isRequest: Bool) -> BodyShifter? {
    guard let codec = MessageCodec(headers, path: path, isRequest: isRequest, schemas: schemas), codec.converts else {
      return nil
    }
    return BodyShifter(.messages(MessageDates(codec, self)), keepsLength: false)
  }

  /// Moves the dates in a whole body.
  package func body(_ bytes: [UInt8], _ form: BodyForm) -> [UInt8] {
    if form == .form, !places.form.isEmpty {
      return Array(items(String(decoding: bytes, as: UTF8.self), names: places.form).utf8)
    }
    if case .multipart(let type) = form, !places.form.isEmpty {
      return bytes.withUnsafeBytes { multipart($0, type) }
    }
    var shifter = body(form)
    return shifter.push(bytes) + shifter.finish()
  }

  /// Moves declared fields by their kind, and everything else by format.
  private func multipart(_ bytes: UnsafeRawBufferPointer, _ contentType: String) -> [UInt8] {
    var result: [UInt8] = []
    var done = 0
    func pass(_ range: Range<Int>) {
      var shifter = body(.text)
      result += shifter.push(Array(bytes[range])) + shifter.finish()
    }
    for field in Multipart.fields(of: bytes, contentType: contentType) {
      guard let kind = places.form[field.name.lowercased()] else { continue }
      pass(done..<field.content.lowerBound)
      result += text(String(decoding: bytes[field.content], as: UTF8.self), declared: kind).utf8
      done = field.content.upperBound
    }
    pass(done..<bytes.count)
    return result
  }

  /// Whether a request's target or body may contain anything to move back. Does not build the result.
  package func mayConcern(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if !(places.query.isEmpty && places.form.isEmpty && places.json.isEmpty) { return true }
    return DateScanner(offset: offset, tokens: tokens, isBack: isBack, keepsLength: false).finds(
      in: bytes.assumingMemoryBound(to: UInt8.self))
  }

  private func items(_ query: String, names: [String: DatePlaces.Kind]) -> String {
    query.split(separator: "&", omittingEmptySubsequences: false).map { item in
      guard let equals = item.firstIndex(of: "=") else { return text(String(item), declared: nil) }
      let name = String(item[..<equals])
      let kind = names.isEmpty ? nil : names[(name.removingPercentEncoding ?? name).lowercased()]
      return name + "=" + text(String(item[item.index(after: equals)...]), declared: kind)
    }.joined(separator: "&")
  }

  private func text(_ value: String, declared kind: DatePlaces.Kind?) -> String {
    // Most values are too short for any date, or for a number in a URL.
    guard kind != .kept, kind != nil || value.utf8.count >= (query == nil ? 16 : 8) else { return value }
    let bytes = Array(value.utf8)
    if let kind, let moved = DeclaredDate.moved(bytes, kind: kind, offset: offset) {
      return String(decoding: moved, as: UTF8.self)
    }
    var scanner = DateScanner(offset: offset, tokens: tokens, query: query, isBack: isBack, keepsLength: false)
    let moved = scanner.push(bytes, isLast: true)
    return moved == bytes ? value : String(decoding: moved, as: UTF8.self)
  }
}

/// Moves the dates of one body while it streams.
package struct BodyShifter: Sendable {
  enum Way: Sendable {
    case text(DateScanner)
    case json(PlacedDates)
    case messages(MessageDates)
  }

  private var way: Way
  /// Whether the length of the body stays the same.
  package let keepsLength: Bool

  init(_ way: Way, keepsLength: Bool) {
    self.way = way
    self.keepsLength = keepsLength
  }

  /// Adds the next chunk.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] { pass(chunk, isLast: false) }

  /// Ends the body.
  ///
  /// - Returns: the bytes that were held back.
  package mutating func finish() -> [UInt8] { pass([], isLast: true) }

  private mutating func pass(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    switch way {
    case .text(var scanner):
      defer { way = .text(scanner) }
      return scanner.push(chunk, isLast: isLast)
    case .json(var stream):
      defer { way = .json(stream) }
      return stream.push(chunk, isLast: isLast)
    case .messages(var stream):
      defer { way = .messages(stream) }
      return stream.push(chunk, isLast: isLast)
    }
  }
}
