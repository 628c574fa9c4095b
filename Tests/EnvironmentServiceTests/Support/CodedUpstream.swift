import Cassettes
import HTTPMessages
import Testing

/// A backend whose path selects the content coding: `/gzip`, `/deflate`, `/br`, in chunks with `/gzip/chunked`.
enum CodedUpstream {
  /// `content` makes the body from the request's `Host`.
  static func start(_ content: @escaping @Sendable (String) -> String) throws -> TestUpstream {
    try TestUpstream { request in
      let parts = request.target.split(separator: "/").map(String.init)
      let bytes = Array(content(request.headers["Host"] ?? "").utf8)
      let coded = try #require(ContentCodings(header: parts[0])).encode(bytes)
      let isChunked = parts.contains("chunked")
      return Response(
        status: 200,
        headers: ["Content-Type": "application/json", "Content-Encoding": parts[0], "Vary": "Accept-Encoding"],
        body: isChunked ? .stream(BytePipe(holding: coded), length: nil) : .bytes(coded))
    }
  }

  static func decode(_ body: [UInt8], _ coding: String) throws -> String {
    String(decoding: try #require(ContentCodings(header: coding)).decode(body, limit: 1 << 24), as: UTF8.self)
  }
}

/// Letters that compress to about half, the same each time.
func noise(_ count: Int) -> [UInt8] {
  var state: UInt32 = 1
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
    for index in 0..<count {
      state = state &* 1_664_525 &+ 1_013_904_223
      buffer[index] = 0x61 + UInt8(state >> 28)
    }
    written = count
  }
}
