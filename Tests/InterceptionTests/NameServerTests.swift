import Foundation
import TestSupport
import Testing

@testable import Interception

@Suite("The name server")
struct NameServerTests {
  private let server = NameServer(table: NameTable())

  @Test("gives each name an address, and keeps it")
  func addresses() throws {
    #expect(try ask("a.example").address == "198.18.0.1")
    #expect(try ask("b.example").address == "198.18.0.2")
    #expect(try ask("A.Example").address == "198.18.0.1")
    #expect(try ask("a.example").timeToLive == 60)
    #expect(server.table.name(of: "198.18.0.2") == "b.example")
    #expect(server.table.name(of: "198.18.0.3") == nil)
    #expect(try ask("single").address == "198.18.0.3")
    #expect(try ask("198.51.100.1").code == 3)
  }

  @Test("repeats the spelling of the question")
  func spelling() throws {
    let question = Query.question("eXaMpLe.COM", 1)
    #expect(try #require(message(question))[12..<question.count].elementsEqual(question[12...]))
  }

  @Test("has no other records, but knows all names", arguments: [28, 65, 64, 15, 16, 33, 2, 6])
  func otherRecords(kind: Int) throws {
    let answer = try ask("a.example", kind)
    #expect(answer.code == 0 && answer.data == nil)
  }

  @Test("knows the names of its addresses")
  func reverse() throws {
    _ = try ask("a.example")
    #expect(try ask("1.0.18.198.in-addr.arpa", 12).data == [1] + Array("a".utf8) + [7] + Array("example".utf8) + [0])
    #expect(try ask("2.0.18.198.in-addr.arpa", 12).code == 3)
    #expect(try ask("1.0.0.127.in-addr.arpa", 12).data == [9] + Array("localhost".utf8) + [0])
    #expect(try ask("18.198.in-addr.arpa", 6).code == 0)
  }

  @Test("answers for localhost, and not for names that never exist")
  func special() throws {
    #expect(try ask("localhost").address == "127.0.0.1")
    #expect(try ask("a.LOCALHOST").address == "127.0.0.1")
    #expect(try ask("localhost", 28).data == [UInt8](repeating: 0, count: 15) + [1])
    for name in ["a.invalid", "a.onion", "use-application-dns.net", "a b.example"] { #expect(try ask(name).code == 3) }
    #expect(try ask("svc.cluster.local").code == 0)
    #expect(try ask("").code == 0)
  }

  @Test("refuses what it does not serve")
  func refusals() throws {
    #expect(try ask("a.example", 252).code == 5)
    #expect(try ask("a.example", 1, group: 3).code == 5)
    var update = Query.question("a.example", 1)
    update[2] |= 0x28
    #expect(try #require(message(update))[3] & 15 == 4)
    var answer = Query.question("a.example", 1)
    answer[2] |= 0x80
    #expect(message(answer) == nil)
    #expect(message([1, 2, 3]) == nil)
  }

  @Test("reports errors of format")
  func format() throws {
    let question = Query.question("a.example", 1)
    var two = question + question.dropFirst(12)
    two[5] = 2
    var none = question
    none[5] = 0
    // A pointer to the header, to itself, and a label of 64 bytes.
    let pointers = [[0xC0, 0], [0xC0, 12], [64] + [UInt8](repeating: 65, count: 64) + [0]].map {
      Array(question[..<12]) + $0 + [0, 1, 0, 1]
    }
    let long = Query.question(Array(repeating: String(repeating: "a", count: 60), count: 5).joined(separator: "."), 1)
    for bad in [two, none, long] + pointers { #expect(try #require(message(bad))[3] & 15 == 1) }
    for count in 12..<question.count { #expect(try #require(message(Array(question[..<count])))[3] & 15 == 1) }
  }

  @Test("answers EDNS with EDNS")
  func extensions() throws {
    func opt(version: UInt8, flags: UInt8) -> [UInt8] { [0, 0, 41, 0x10, 0, 0, version, flags, 0, 0, 0] }
    var question = Query.question("a.example", 1)
    question[11] = 1
    let answer = try #require(message(question + opt(version: 0, flags: 0x80)))
    #expect(answer[11] == 1 && answer.suffix(11) == [0, 0, 41, 4, 0xD0, 0, 0, 0x80, 0, 0, 0])
    #expect(answer[3] & 15 == 0)
    let new = try #require(message(question + opt(version: 1, flags: 0)))
    #expect(new[3] & 15 == 0 && new.suffix(11)[new.count - 6] == 1)
    question[11] = 2
    #expect(try #require(message(question + opt(version: 0, flags: 0) + opt(version: 0, flags: 0)))[3] & 15 == 1)
  }

  @Test("never traps on changed bytes")
  func changed() {
    var question = Query.question("a.example", 1)
    question[11] = 1
    question += [0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]
    for index in question.indices {
      for value: UInt8 in [0, 1, 0x3F, 0x40, 0xC0, 0xFF] {
        var changed = question
        changed[index] = value
        for count in [changed.count, changed.count - 3, index] { _ = message(Array(changed[..<count])) }
      }
    }
  }

  @Test("says that it fails when no address is left, and still knows the others")
  func full() throws {
    let server = NameServer(table: NameTable(capacity: 1))
    let first = Query.question("a.example", 1)
    let second = Query.question("b.example", 1)
    _ = first.withUnsafeBytes(server.answer)
    guard case .full(let bytes, let name) = second.withUnsafeBytes(server.answer) else {
      Issue.record("it was answered")
      return
    }
    #expect(bytes[3] & 15 == 2 && name == "b.example")
    guard case .message(let again) = first.withUnsafeBytes(server.answer) else {
      Issue.record("it was not answered")
      return
    }
    #expect(again[3] & 15 == 0)
    #expect(server.table.reportsFull() && !server.table.reportsFull())
  }

  @Test("answers over UDP and TCP")
  func sockets() async throws {
    let (descriptor, port) = try bound(SOCK_DGRAM)
    var isOn: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_IP), IP_PKTINFO, &isOn, 4)
    let server = Destination(address: "198.19.255.1", port: 53)
    try await withInterceptor(nameServers: [descriptor], destination: { _ in server }) { setting in
      let answers = try await onThread {
        let udp = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let client = RawClient(connected: udp)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(udp, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
        // All at once: the socket holds them until they are answered.
        for index in 0..<100 { try client.send(Query.question("host\(index).example", 1)) }
        return try (0..<100).map { _ in try client.receive() }
      }
      #expect(Set(answers.map { Array($0.suffix(4)) }).count == 100)
      let reply = try await onThread {
        let client = try RawClient(port: setting.port)
        let question = Query.question("host7.example", 1)
        let framed = [0, UInt8(question.count)] + question
        for byte in framed + framed { try client.send([byte]) }
        var received: [UInt8] = []
        while received.count < 2 * (framed.count + 16) { received += try client.receive() }
        return received
      }
      let expected = try #require(answers.first { $0.dropFirst(13).starts(with: Array("host7".utf8)) }).suffix(4)
      #expect(reply.suffix(4) == expected)
    }
  }

  @Test("answers from the address that was asked, over IPv4 and IPv6", arguments: [AF_INET, AF_INET6])
  func localAddress(family: Int32) async throws {
    let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var isOn: Int32 = 1
    if family == AF_INET {
      setsockopt(descriptor, Int32(IPPROTO_IP), IP_PKTINFO, &isOn, 4)
    } else {
      // IPV6_V6ONLY and IPV6_RECVPKTINFO.
      setsockopt(descriptor, Int32(IPPROTO_IPV6), 26, &isOn, 4)
      setsockopt(descriptor, Int32(IPPROTO_IPV6), 49, &isOn, 4)
    }
    // Bound to all addresses. The client asks one of them, and takes answers only from there.
    let port = try #require(Self.bindToAll(descriptor, family))
    try await withInterceptor(nameServers: [descriptor]) { _ in
      let answer = try await onThread {
        let client = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(Self.connectToLoopback(client, family, port))
        let connection = RawClient(connected: client)
        try connection.send(Query.question("a.example", 1))
        return try connection.receive()
      }
      #expect(answer.suffix(4) == [198, 18, 0, 1])
    }
  }

  private static func bindToAll(_ descriptor: Int32, _ family: Int32) -> UInt16? {
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(family)
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isBound = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    // The port has the same place in both kinds of addresses.
    return isBound ? withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) } : nil
  }

  private static func connectToLoopback(_ descriptor: Int32, _ family: Int32, _ port: UInt16) -> Bool {
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(family)
    withUnsafeMutableBytes(of: &storage) { bytes in
      bytes[2] = UInt8(port >> 8)
      bytes[3] = UInt8(port & 255)
      // 127.0.0.5 or ::1.
      if family == AF_INET { bytes[4..<8].copyBytes(from: [127, 0, 0, 5]) } else { bytes[23] = 1 }
    }
    return withUnsafePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(
          descriptor, $0,
          socklen_t(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
  }

  private struct Answer {
    var code: UInt8
    var data: [UInt8]?
    var timeToLive: Int?
    var address: String? { data.map { $0.map(String.init).joined(separator: ".") } }
  }

  private func message(_ bytes: [UInt8]) -> [UInt8]? {
    switch bytes.withUnsafeBytes(server.answer) {
    case .none: nil
    case .message(let bytes), .full(let bytes, _): bytes
    }
  }

  private func ask(_ name: String, _ kind: Int = 1, group: UInt8 = 1) throws -> Answer {
    let question = Query.question(name, kind, group: group)
    let bytes = try #require(message(question))
    #expect(bytes[..<2].elementsEqual(question[..<2]) && bytes[2] & 0x81 == 0x81)
    guard bytes[7] == 1 else { return Answer(code: bytes[3] & 15) }
    let record = bytes[question.count...]
    #expect(record.prefix(2) == [0xC0, 12])
    return Answer(
      code: bytes[3] & 15, data: Array(record.dropFirst(12)),
      timeToLive: record.dropFirst(6).prefix(4).reduce(0) { $0 << 8 | Int($1) })
  }
}

enum Query {
  /// A message with one question and RD.
  static func question(_ name: String, _ kind: Int, group: UInt8 = 1) -> [UInt8] {
    var bytes: [UInt8] = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    for label in name.split(separator: ".") { bytes += [UInt8(label.utf8.count)] + label.utf8 }
    return bytes + [0, UInt8(kind >> 8), UInt8(kind & 255), 0, group]
  }
}
