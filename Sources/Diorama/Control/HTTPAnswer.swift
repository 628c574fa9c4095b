#if DEBUG || Controlled
  /// An HTTP/1.1 response, as far as the environment's answers need it: read whole, small, not compressed.
  struct HTTPAnswer: Equatable {
    /// 200 to 599.
    var status: Int
    /// Without any transfer coding.
    var body: [UInt8]
    /// Whether another request may follow on the connection.
    var keepsAlive: Bool

    /// What is not HTTP, or too much of it.
    struct Malformed: Error {
      let problem: String
      /// Whether the peer went away in the middle of it.
      var isCutOff = false
    }

    /// The most bytes of an answer: enough for the longest random string, whatever its letters.
    static let limit = 8 << 20

    /// Reads an answer out of what has come so far.
    ///
    /// - Parameters:
    ///   - bytes: everything since the request.
    ///   - ended: whether the peer has closed, so that no more will come.
    /// - Returns: nil while it is not whole.
    /// - Throws: ``Malformed``.
    static func parse(_ bytes: [UInt8], ended: Bool) throws(Malformed) -> HTTPAnswer? {
      guard bytes.count <= limit else { throw Malformed(problem: "an answer of more than \(limit) bytes") }
      guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
        if ended { throw Malformed(problem: "the connection was closed within the answer's head", isCutOff: true) }
        return nil
      }
      let lines = bytes[..<headEnd.lowerBound].split(separator: 0x0A, omittingEmptySubsequences: false)
      let head = try Head(lines.map { String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self) })
      let rest = Array(bytes[headEnd.upperBound...])
      if 100..<200 ~= head.status { return try parse(rest, ended: ended) }

      let body: [UInt8]?
      if head.status == 204 || head.status == 304 {
        body = []
      } else if head.isChunked {
        body = try dechunked(rest)
      } else if let length = head.length {
        body = rest.count < length ? nil : Array(rest.prefix(length))
      } else {
        body = ended ? rest : nil
      }
      guard let body else {
        if ended { throw Malformed(problem: "the connection was closed within the answer's body", isCutOff: true) }
        return nil
      }
      let isDelimited = head.isChunked || head.length != nil || head.status == 204 || head.status == 304
      return HTTPAnswer(status: head.status, body: body, keepsAlive: isDelimited && head.keepsAlive && !ended)
    }

    /// What the chunks of a body hold (RFC 9112, 7.1); nil while the last one is missing.
    private static func dechunked(_ bytes: [UInt8]) throws(Malformed) -> [UInt8]? {
      let lineEnd = Array("\r\n".utf8)
      var body: [UInt8] = []
      var rest = bytes[...]
      while let end = rest.firstRange(of: lineEnd) {
        let digits = rest[..<end.lowerBound].prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), 0...limit ~= size else {
          throw Malformed(problem: "a chunk without a size")
        }
        rest = rest[end.upperBound...]
        if size == 0 { return rest.starts(with: lineEnd) || rest.firstRange(of: lineEnd + lineEnd) != nil ? body : nil }
        guard rest.count >= size + lineEnd.count else { return nil }
        body += rest.prefix(size)
        rest = rest.dropFirst(size + lineEnd.count)
      }
      return nil
    }

    /// A status line and the three fields that matter.
    private struct Head {
      var status = 0
      var length: Int?
      var isChunked = false
      var keepsAlive: Bool

      init(_ lines: [String]) throws(Malformed) {
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), 100...599 ~= status else {
          throw Malformed(problem: "an answer that is not HTTP/1.1")
        }
        self.status = status
        keepsAlive = words[0] != "HTTP/1.0"
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
          guard parts.count == 2 else { throw Malformed(problem: "a header line without a colon") }
          let value = parts[1].split { $0 == " " || $0 == "\t" }.joined(separator: " ").lowercased()
          switch parts[0].lowercased() {
          case "content-length":
            guard let length = Int(value), length >= 0 else {
              throw Malformed(problem: "a Content-Length of '\(value)'")
            }
            self.length = length
          case "transfer-encoding": isChunked = value.hasSuffix("chunked")
          case "connection" where value.contains("close"): keepsAlive = false
          default: break
          }
        }
      }
    }
  }
#endif
