import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The body of a session's request.
enum Upload {
  case none
  case bytes([UInt8])
  case file(URL)
  case stream(InputStream)
}

/// A session's request in the service's form, with the header fields that Foundation would add.
struct OutgoingMessage {
  /// The maximum size in bytes of a body that is passed as a whole, the same as the server's.
  private static let wholeLimit = 65_536

  let url: URL
  /// The origin of the URL.
  let origin: String
  private(set) var request: Request

  /// - Parameters:
  ///   - request: the request.
  ///   - upload: its body.
  ///   - cookies: the session's cookies.
  ///   - defaults: header fields to add if the request lacks them.
  init(_ request: URLRequest, _ upload: Upload, cookies: HTTPCookieStorage?, _ defaults: [String: String]) {
    let url = request.url ?? URL(filePath: "/")
    let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    self.url = url
    let port = parts?.port.map { ":\($0)" } ?? ""
    origin = "\(parts?.scheme?.lowercased() ?? "http")://\(parts?.encodedHost ?? "")\(port)"
    let path = parts?.percentEncodedPath ?? ""
    let query = parts?.percentEncodedQuery.map { "?\($0)" } ?? ""
    let method = request.httpMethod ?? "GET"
    var headers = Headers()
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      headers.append(name, value)
    }
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) where headers[name] == nil {
      headers.append(name, value)
    }
    if headers["Accept"] == nil { headers.append("Accept", "*/*") }
    if request.httpShouldHandleCookies, headers["Cookie"] == nil,
      let known = cookies?.cookies(for: url), !known.isEmpty,
      let value = HTTPCookie.requestHeaderFields(with: known)["Cookie"]
    {
      headers.append("Cookie", value)
    }
    let body = Self.body(of: upload)
    if body.length != 0, method == "POST", headers["Content-Type"] == nil {
      headers.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if let length = body.length, length > 0 || ["POST", "PUT", "PATCH"].contains(method) {
      headers.set("Content-Length", "\(length)")
    } else if body.length == nil {
      headers.set("Transfer-Encoding", "chunked")
    }
    self.request = Request(method: method, target: (path.isEmpty ? "/" : path) + query, headers: headers, body: body)
  }

  /// Discards the rest of the body, unless the response's body may still depend on it.
  func abandon(unless response: Response?) {
    if case .stream = response?.body { return }
    if case .stream(let pipe, _) = request.body { pipe.abandon() }
  }

  private static func body(of upload: Upload) -> Body {
    switch upload {
    case .none: return .empty
    case .bytes(let bytes):
      return bytes.count <= wholeLimit ? .bytes(bytes) : .stream(BytePipe(holding: bytes), length: bytes.count)
    case .file(let url):
      let length = try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize
      let pipe = BytePipe()
      guard let stream = InputStream(url: url) else {
        pipe.fail(BodyError("the file \(url.path) cannot be read"))
        return .stream(pipe, length: length)
      }
      pump(stream, to: pipe)
      return .stream(pipe, length: length)
    case .stream(let stream):
      let pipe = BytePipe()
      pump(stream, to: pipe)
      return .stream(pipe, length: nil)
    }
  }

  /// Reads a stream on a separate thread, because reading may block.
  private static func pump(_ stream: InputStream, to pipe: BytePipe) {
    nonisolated(unsafe) let stream = stream
    DispatchQueue.global().async {
      let room = DispatchSemaphore(value: 0)
      pipe.onWritable { room.signal() }
      stream.open()
      defer { stream.close() }
      var buffer = [UInt8](repeating: 0, count: wholeLimit)
      while !pipe.isAbandoned {
        let count = stream.read(&buffer, maxLength: buffer.count)
        guard count > 0 else {
          return count == 0
            ? pipe.finish() : pipe.fail(stream.streamError ?? BodyError("the request's body cannot be read"))
        }
        while !buffer[..<count].withUnsafeBytes({ pipe.offer($0) }) { room.wait() }
      }
    }
  }
}
