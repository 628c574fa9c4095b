package import HTTPMessages

/// A request that goes out as it is.
///
/// ```swift
/// var request = RawRequest(method: "GET", target: "/a", host: "dev.api1.com")
/// request.append(name, value)
/// ```
package struct RawRequest {
  let method: String
  let target: String
  let body: [UInt8]
  let fields: HeaderList
  private var given: HeaderList.Given = .host

  /// - Parameters:
  ///   - method: a token.
  ///   - target: in origin form, of visible ASCII.
  ///   - body: at most 64 KiB.
  ///   - host: for `Host`.
  package init(method: String, target: String, body: [UInt8], host: String) {
    self.method = method
    self.target = target
    self.body = body
    fields = HeaderList()
    fields.append("Host", host)
  }

  /// Adds a field; neither `Host` nor one of the connection or the framing, and plain text alone.
  package mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if name.count == 6, name.equalsIgnoringASCIICase("Accept") { given.insert(.accept) }
    if name.count == 12, name.equalsIgnoringASCIICase("Content-Type") { given.insert(.contentType) }
    fields.append(name, value)
  }

  /// Ends the head.
  package mutating func seal() { fields.seal(given) }
}

/// Who gets the answer to a ``RawRequest``: one of these is called, once, on the thread that has sent it.
package protocol RawReceiver: AnyObject {
  /// All of it has come. What is not taken out of it is gone after this.
  func came(_ response: RawResponse)
  /// It is long, or slow to come: its body is a stream, or it has more to it than bytes can tell.
  func began(_ response: Response)
  /// There is none.
  func failed(_ error: any Error)
}

/// A request on its way, as who sent it knows it.
package final class RawTransfer {
  private let transfer: Transfer
  private let driver: CurlDriver

  init(_ transfer: Transfer, _ driver: CurlDriver) {
    self.transfer = transfer
    self.driver = driver
  }

  /// Nobody wants the answer any more.
  package func cancel() { driver.post(.cancel(transfer)) }
}
