import CMicroHTTPD
import HTTPMessages

/// Reads a request head from libmicrohttpd's memory.
enum Head {
  /// The value of the first field with this name.
  static func field(_ name: StaticString, of connection: OpaquePointer) -> UnsafeRawBufferPointer? {
    var value: UnsafePointer<CChar>?
    var count = 0
    let found = name.withUTF8Buffer { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        diorama_connection_field(connection, $0.baseAddress, $0.count, &value, &count)
      }
    }
    guard found == .YES, let value else { return nil }
    return UnsafeRawBufferPointer(start: value, count: count)
  }

  /// All fields in order, with the case of their names as sent.
  static func fields(of connection: OpaquePointer) -> Headers {
    var headers = Headers()
    headers.fields.reserveCapacity(fieldCount(of: connection))
    withUnsafeMutablePointer(to: &headers) { headers in
      _ = diorama_connection_fields(
        connection,
        { context, _, name, nameCount, value, valueCount in
          guard let headers = context?.assumingMemoryBound(to: Headers.self), let name else { return .YES }
          var content = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount)[...]
          while let last = content.last, last == 0x20 || last == 0x09 { content.removeLast() }
          headers.pointee.append(
            Head.text(UnsafeRawBufferPointer(start: name, count: nameCount)),
            Head.text(UnsafeRawBufferPointer(rebasing: content)))
          return .YES
        }, headers)
    }
    return headers
  }

  /// Calls `body` for each field in order until it returns false; returns false if it did.
  static func forEach(
    of connection: OpaquePointer, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    withoutActuallyEscaping(body) { body in
      var walk = Walk(body: body)
      withUnsafeMutablePointer(to: &walk) { walk in
        _ = diorama_connection_fields(
          connection,
          { context, _, name, nameCount, value, valueCount in
            guard let walk = context?.assumingMemoryBound(to: Walk.self), let name else { return .YES }
            var count = value == nil ? 0 : valueCount
            while count > 0, let value, value[count - 1] == 0x20 || value[count - 1] == 0x09 { count -= 1 }
            walk.pointee.goesOn = walk.pointee.body(
              UnsafeRawBufferPointer(start: name, count: nameCount), UnsafeRawBufferPointer(start: value, count: count))
            return walk.pointee.goesOn ? .YES : .NO
          }, walk)
      }
      return walk.goesOn
    }
  }

  private struct Walk {
    let body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    var goesOn = true
  }

  /// The number of fields.
  static func fieldCount(of connection: OpaquePointer) -> Int {
    Int(diorama_connection_fields(connection, nil, nil))
  }

  /// Decodes bytes as UTF-8 if valid, else as Latin-1, so different bytes never become equal.
  static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(wire: bytes)
  }
}
