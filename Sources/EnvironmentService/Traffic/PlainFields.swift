import HTTPMessages

/// How a request's header field is treated on its way to an upstream.
enum RequestField {
  /// Passed unchanged.
  case passed
  /// Concerns the connection or the framing; dropped, or written by the client itself.
  case own
  case connection
  case cookie
  /// Needs more than the fast path can do.
  case special

  init(_ name: UnsafeRawBufferPointer) {
    // Few names have these lengths.
    switch name.count {
    case 2 where name.equalsIgnoringASCIICase("TE"): self = .special
    case 4 where name.equalsIgnoringASCIICase("Host"): self = .own
    // `Connection: close` names it.
    case 5 where name.equalsIgnoringASCIICase("Close"): self = .special
    case 6 where name.equalsIgnoringASCIICase("Cookie"): self = .cookie
    case 6 where name.equalsIgnoringASCIICase("Expect"): self = .special
    case 7 where name.equalsIgnoringASCIICase("Upgrade") || name.equalsIgnoringASCIICase("Trailer"): self = .special
    case 9 where name.equalsIgnoringASCIICase("Forwarded"): self = .special
    case 10 where name.equalsIgnoringASCIICase("Connection"): self = .connection
    case 14 where name.equalsIgnoringASCIICase("Content-Length"): self = .own
    case 16 where name.equalsIgnoringASCIICase("X-Forwarded-Host"): self = .special
    case 16 where name.equalsIgnoringASCIICase("X-Forwarded-Port"): self = .special
    case 17 where name.equalsIgnoringASCIICase("X-Forwarded-Proto"): self = .special
    case 17 where name.equalsIgnoringASCIICase("Transfer-Encoding"): self = .special
    default: self = name.isHopByHop ? .own : .passed
    }
  }
}

/// How a response's header field is treated on its way to the app.
enum ResponseField {
  case passed, own, connection, contentType, special

  /// Whether the field is passed unchanged.
  var isPassed: Bool {
    switch self {
    case .passed, .contentType: true
    case .own, .connection, .special: false
    }
  }

  init(_ name: UnsafeRawBufferPointer) {
    switch name.count {
    case 4 where name.equalsIgnoringASCIICase("Link"): self = .special
    case 5 where name.equalsIgnoringASCIICase("Close"): self = .special
    case 7 where name.equalsIgnoringASCIICase("Refresh") || name.equalsIgnoringASCIICase("Trailer"): self = .special
    case 8 where name.equalsIgnoringASCIICase("Location"): self = .special
    case 10 where name.equalsIgnoringASCIICase("Connection"): self = .connection
    case 10 where name.equalsIgnoringASCIICase("Set-Cookie"): self = .special
    case 12 where name.equalsIgnoringASCIICase("Content-Type"): self = .contentType
    case 14 where name.equalsIgnoringASCIICase("Content-Length"): self = .own
    case 16 where name.equalsIgnoringASCIICase("Content-Encoding"): self = .special
    case 16 where name.equalsIgnoringASCIICase("Content-Location"): self = .special
    case 17 where name.equalsIgnoringASCIICase("Transfer-Encoding"): self = .special
    case 19 where name.equalsIgnoringASCIICase("Timing-Allow-Origin"): self = .special
    case 27 where name.equalsIgnoringASCIICase("Access-Control-Allow-Origin"): self = .special
    default: self = name.isHopByHop ? .own : .passed
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether this is a `Connection` value that names no other field.
  var keepsOrCloses: Bool {
    equalsIgnoringASCIICase("keep-alive") || equalsIgnoringASCIICase("close")
  }
}
