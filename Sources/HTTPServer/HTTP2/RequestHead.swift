import HTTPMessages

/// The head of a request as its fields arrive (RFC 9113, 8.3).
///
/// nghttp2 has checked them by then: pseudo-header fields are complete and precede the others, names are lowercase tokens,
/// values contain no NUL, CR or LF, no field is connection-specific, and `content-length` is a number.
struct RequestHead {
  private(set) var method = ""
  private(set) var target = ""
  /// From `content-length`.
  private(set) var contentLength: Int?
  /// Whether the client waits for a 100 before it sends the body.
  var expectsContinue = false

  private var scheme = ""
  private var authority: String?
  private var host: String?
  private var fields: [Headers.Field] = []
  private var cookie: Int?
  /// As SETTINGS_MAX_HEADER_LIST_SIZE counts (RFC 9113, 6.5.2).
  private var size = 0
  private let limit: Int

  /// - Parameter limit: the maximum size of the head in bytes; fields beyond it are dropped.
  init(limit: Int) {
    self.limit = limit
  }

  /// Adds a field.
  mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    size += name.count + value.count + 32
    // The target is kept, to tell the client which part is too long.
    guard size <= limit || name.equalsIgnoringASCIICase(":path") else { return }
    if name.first == UInt8(ascii: ":") { return addPseudo(name, value) }
    let text = String(wire: value)
    switch name.count {
    case 4 where name.equalsIgnoringASCIICase("host"):
      // Sent twice, it is a list, which is not a valid host.
      return host = host.map { "\($0), \(text)" } ?? text
    case 6 where name.equalsIgnoringASCIICase("cookie"):
      // RFC 9113, 8.2.3: several fields must be joined before they are passed to a generic HTTP application.
      guard let cookie else {
        cookie = fields.count
        break
      }
      return fields[cookie].value += "; \(text)"
    case 6 where name.equalsIgnoringASCIICase("expect"):
      expectsContinue = text.equalsIgnoringASCIICase("100-continue")
    case 14 where name.equalsIgnoringASCIICase("content-length"):
      contentLength = Int(text) ?? .max
    default: break
    }
    fields.append(.init(String(wire: name), text))
  }

  private mutating func addPseudo(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if name.equalsIgnoringASCIICase(":path") {
      target = String(wireTarget: value)
    } else if name.equalsIgnoringASCIICase(":method") {
      method = String(wire: value)
    } else if name.equalsIgnoringASCIICase(":scheme") {
      scheme = String(wire: value).lowercased()
    } else if name.equalsIgnoringASCIICase(":authority") {
      authority = String(wire: value)
    }
  }

  var isConnect: Bool { method == "CONNECT" }

  /// The reason to refuse the request; nil if it is valid.
  var refusal: Refusal? {
    guard size <= limit else { return target.utf8.count + 16 > limit ? .targetTooLong : .headTooLarge }
    guard scheme == "http" || scheme == "https" else {
      return .badRequest("':scheme' is '\(scheme)'; only http and https are served")
    }
    guard let named = authority ?? host, let (name, port) = Origin.split(authority: named) else {
      return .badRequest("':authority' is not a host with an optional port (RFC 9113, 8.3.1); correct it")
    }
    // RFC 9113, 8.3.1: a server should treat a request as malformed if the two differ.
    if authority != nil, let host {
      let standard = Origin.defaultPort(of: scheme)
      guard let other = Origin.split(authority: host), other.host == name, other.port ?? standard == port ?? standard
      else { return .badRequest("'host' differs from ':authority' (RFC 9113, 8.3.1); send one of them") }
    }
    return nil
  }

  /// All fields in order, after `Host`.
  var headers: Headers {
    Headers([.init("Host", authority ?? host ?? "")] + fields)
  }
}
