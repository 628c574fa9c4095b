import CMicroHTTPD

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An address as the system's calls want it.
struct SocketAddress {
  /// Bytes that a Unix socket's path may have; the system needs one more for the end.
  static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private var storage = sockaddr_storage()
  private var length: socklen_t

  /// Room for one that the system fills in.
  init() {
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  }

  /// 127.0.0.1.
  init(port: UInt16) {
    length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
  }

  /// A Unix socket of at most ``longestPath`` bytes.
  init(path: String) {
    length = socklen_t(MemoryLayout<sockaddr_un>.size)
    storage.ss_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &storage) { bytes in
      let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
      for (index, byte) in path.utf8.prefix(Self.longestPath).enumerated() { bytes[start + index] = byte }
    }
  }

  /// Calls the system with it.
  mutating func withPointer<Result>(
    _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
  }

  var isUnix: Bool { storage.ss_family == sa_family_t(AF_UNIX) }

  /// The port, where it is one of this machine's loopback addresses.
  var loopbackPort: UInt16? {
    withUnsafeBytes(of: storage) { bytes in
      switch Int32(storage.ss_family) {
      case AF_INET:
        let address = bytes.load(as: sockaddr_in.self)
        return address.sin_addr.s_addr.bigEndian >> 24 == 127 ? UInt16(bigEndian: address.sin_port) : nil
      case AF_INET6:
        let address = bytes.load(as: sockaddr_in6.self)
        let isLoopback = withUnsafeBytes(of: address.sin6_addr) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        return isLoopback ? UInt16(bigEndian: address.sin6_port) : nil
      default: return nil
      }
    }
  }

  /// The path of a Unix socket; a leading `@` stands for Linux's abstract names.
  var path: String? {
    guard isUnix else { return nil }
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    let name = withUnsafeBytes(of: storage) { Array($0.prefix(Int(length)).dropFirst(start)) }
    guard name.first == 0 else { return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) }
    return "@" + String(decoding: name.dropFirst(), as: UTF8.self)
  }
}
