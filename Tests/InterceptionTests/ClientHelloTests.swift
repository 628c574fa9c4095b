import Interception
import Testing

@Suite("ClientHello")
struct ClientHelloTests {
  @Test("yields the host name in lower case and the protocols in order")
  func content() {
    let bytes = Sample.record(Sample.hello(name: "API.Example.com.", protocols: ["h2", "http/1.1"]))
    #expect(parse(bytes) == .hello(serverName: "api.example.com", protocols: ["h2", "http/1.1"]))
    #expect(parse(bytes + [1, 2, 3]) == .hello(serverName: "api.example.com", protocols: ["h2", "http/1.1"]))
  }

  @Test("may have no extensions, and ignores an address as a name")
  func without() {
    #expect(parse(Sample.record(Sample.hello(name: nil, protocols: []))) == .hello(serverName: nil, protocols: []))
    let address = Sample.hello(name: "192.0.2.1", protocols: ["h2"])
    #expect(parse(Sample.record(address)) == .hello(serverName: nil, protocols: ["h2"]))
  }

  @Test("is incomplete when truncated anywhere")
  func truncated() {
    let bytes = Sample.record(Sample.hello(name: "a.example", protocols: ["http/1.1"]))
    for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == .incomplete) }
  }

  @Test("is joined from records of any size")
  func fragments() {
    let message = Sample.hello(name: "a.example", protocols: ["http/1.1"])
    for size in 1...message.count {
      let pieces = stride(from: 0, to: message.count, by: size).flatMap {
        Sample.record(Array(message[$0..<min($0 + size, message.count)]))
      }
      #expect(parse(pieces) == .hello(serverName: "a.example", protocols: ["http/1.1"]))
      #expect(parse(Array(pieces.dropLast())) == .incomplete)
    }
  }

  @Test("is rejected or read, but never trapped on, with any byte changed")
  func changed() {
    let bytes = Sample.record(Sample.hello(name: "a.example", protocols: ["http/1.1"]))
    for index in bytes.indices {
      for mask: UInt8 in [1, 0x80, 0xFF] {
        var changed = bytes
        changed[index] ^= mask
        _ = parse(changed)
        _ = parse(Array(changed.dropLast(3)))
      }
    }
    #expect(parse([23] + bytes.dropFirst()) == .invalid)
    #expect(parse([22, 2] + bytes.dropFirst(2)) == .invalid)
    #expect(parse(Sample.record([2] + Sample.hello(name: nil, protocols: []).dropFirst())) == .invalid)
    #expect(parse([22, 3, 1, 0, 0]) == .invalid)
  }

  @Test("is rejected when it is too large")
  func large() {
    #expect(parse(Sample.record([1, 1, 0, 0, 3, 3])) == .invalid)
  }

  private func parse(_ bytes: [UInt8]) -> ClientHello { bytes.withUnsafeBytes { ClientHello($0) } }
}

/// Messages of TLS (RFC 8446).
enum Sample {
  static func record(_ fragment: [UInt8]) -> [UInt8] { [22, 3, 1] + length(fragment.count) + fragment }

  /// A ClientHello of TLS 1.2.
  static func hello(name: String?, protocols: [String]) -> [UInt8] {
    var extensions: [UInt8] = []
    if let name {
      let entry = [0] + length(name.utf8.count) + name.utf8
      extensions += [0, 0] + length(entry.count + 2) + length(entry.count) + entry
    }
    if !protocols.isEmpty {
      let list = protocols.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
      extensions += [0, 16] + length(list.count + 2) + length(list.count) + list
    }
    var body: [UInt8] = [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0xC0, 0x2B, 1, 0]
    if !extensions.isEmpty { body += length(extensions.count) + extensions }
    return [1, 0] + length(body.count) + body
  }

  private static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8), UInt8(count & 255)] }
}
