import CNGHTTP2
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A transfer on a connection of HTTP/2, or waiting for it. Used on the driver's thread only.
final class HTTP2Stream {
  let transfer: Transfer
  let session: HTTP2Session
  /// 0 until the request begins.
  var id: Int32 = 0
  /// The number of bytes that the connection had received when the request began; nil if it was a new one.
  var receivedBefore: Int?
  /// Bytes of heads and bodies in both directions.
  var moved: Int64 = 0
  /// Bytes of the response's body that its stream has no room for. The upstream's window for the stream limits them.
  var held: [UInt8] = []

  init(_ transfer: Transfer, on session: HTTP2Session) {
    self.transfer = transfer
    self.session = session
  }

  /// The number of bytes transferred in both directions; nil while connecting.
  var bytesMoved: Int64? { session.isConnected ? moved : nil }

  /// Continues after one of the bodies had to wait.
  func resume(receiving: Bool, sending: Bool) {
    if receiving { session.resumeReceiving(self) }
    if sending { session.resumeSending(self) }
  }
}

/// The head of a request in the form that nghttp2 sends.
struct HTTP2Head {
  private var bytes: [UInt8] = []
  private var lengths: [(name: Int, value: Int)] = []
  /// Whether a body follows.
  let hasBody: Bool

  init(_ transfer: Transfer) {
    let length = transfer.upload.length
    hasBody = length != 0 && transfer.method != "HEAD"
    append(":method", transfer.method)
    append(":scheme", transfer.origin.scheme)
    // RFC 9113, 8.3.1: in place of Host.
    var authority = transfer.origin.authority
    transfer.fields.forEachField { name, value in
      if name.equalsIgnoringASCIICase("Host") { authority = String(wire: value) }
    }
    append(":authority", authority)
    append(":path", transfer.target)
    transfer.fields.forEachField { name, value in
      // RFC 9113, 8.2.2: no field of the connection.
      guard !name.equalsIgnoringASCIICase("Host"), !name.equalsIgnoringASCIICase("Connection") else { return }
      bytes += name
      bytes += value
      lengths.append((name.count, value.count))
    }
    guard let length, hasBody || ["POST", "PUT", "PATCH"].contains(transfer.method) else { return }
    append("content-length", "\(length)")
  }

  private mutating func append(_ name: String, _ value: String) {
    bytes += name.utf8
    bytes += value.utf8
    lengths.append((name.utf8.count, value.utf8.count))
  }

  /// The size of the fields in bytes.
  var count: Int { bytes.count }

  /// Calls `body` with the fields, which are valid during the call.
  func withFields(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    bytes.withUnsafeBufferPointer { bytes in
      withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { fields in
        // nghttp2_submit_request(3): it copies the fields, and makes the names lower case.
        var next = UnsafeMutablePointer(mutating: bytes.baseAddress)
        for (index, length) in lengths.enumerated() {
          let value = next.map { $0 + length.name }
          fields.initializeElement(
            at: index,
            to: nghttp2_nv(
              name: next, value: value, namelen: length.name, valuelen: length.value,
              flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
          next = value.map { $0 + length.value }
        }
        return body(fields.baseAddress, lengths.count)
      }
    }
  }
}
