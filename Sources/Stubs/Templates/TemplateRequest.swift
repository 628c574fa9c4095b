import Basics
package import HTTPMessages
import Foundation

/// The request that a template can refer to. Its parts are computed when a template uses them.
package final class TemplateRequest: Sendable {
  /// A part of a `multipart/form-data` body.
  package struct Part: Sendable {
    package var name: String
    package var headers: Headers
    package var body: [UInt8]

    package init(name: String, headers: Headers, body: [UInt8]) {
      self.name = name
      self.headers = headers
      self.body = body
    }
  }

  package let method: String
  /// Path and query as sent.
  package let url: String
  private let scheme: String
  private let host: String
  private let port: Int
  private let headers: Headers
  private let body: [UInt8]
  private let pathVariables: [String: String]
  private let id: String
  private let clientAddress: String
  private let parts: @Sendable () -> [Part]
  private let bodyText = Guarded<String?>(nil)

  /// - Parameters:
  ///   - method: the method as sent.
  ///   - url: path and query as sent.
  ///   - scheme: `http` or `https`.
  ///   - host: the name that the client connected to.
  ///   - port: the port that the client connected to.
  ///   - headers: the header fields in order.
  ///   - body: the body without a content encoding.
  ///   - pathVariables: the variables of the stub's `urlPathTemplate`, decoded.
  ///   - id: the request's id in the journal.
  ///   - clientAddress: the client's IP address.
  ///   - parts: returns the parts of a multipart body.
  package init(
    method: String, url: String, scheme: String = "http", host: String, port: Int, headers: Headers = [:],
    body: [UInt8] = [], pathVariables: [String: String] = [:], id: String = "", clientAddress: String = "127.0.0.1",
    parts: @escaping @Sendable () -> [Part] = { [] }
  ) {
    self.method = method
    self.url = url
    self.scheme = scheme
    self.host = host
    self.port = port
    self.headers = headers
    self.body = body
    self.pathVariables = pathVariables
    self.id = id
    self.clientAddress = clientAddress
    self.parts = parts
  }

  /// The names of the members.
  let members = [
    "id", "method", "url", "path", "pathSegments", "query", "scheme", "host", "port", "baseUrl", "headers", "cookies",
    "body", "bodyAsBase64", "clientIp", "multipart", "parts",
  ]

  func member(_ name: String) -> TemplateValue? {
    switch name {
    case "id": return .string(id)
    case "method":
      // Not a string in WireMock either: `eq request.method 'GET'` is false there.
      return .element(TemplateElement(name: method, text: method, source: method))
    case "url": return .string(url)
    case "requestLine": return .request(self)
    case "path", "pathSegments":
      let path = String(url.prefix { $0 != "?" && $0 != "#" }).percentDecoded(plusIsSpace: false)
      let segments = path.split(separator: "/").map { TemplateValue.string(String($0)) }
      return .list(TemplateList(segments, .path(path, variables: pathVariables)))
    case "query":
      guard let mark = url.firstIndex(of: "?") else { return .map(TemplateMap([])) }
      let query = url[url.index(after: mark)...].prefix { $0 != "#" }
      return .grouped(
        query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
          let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { String($0).percentDecoded(plusIsSpace: true) }
          return (parts[0], parts.count > 1 ? parts[1] : "")
        })
    case "scheme": return .string(scheme)
    case "host": return .string(host)
    case "port": return .int(port)
    case "baseUrl":
      let isStandard = scheme == "http" && port == 80 || scheme == "https" && port == 443
      return .string("\(scheme)://\(host)" + (isStandard ? "" : ":\(port)"))
    case "headers": return Self.headers(headers)
    case "cookies":
      return .grouped(
        headers.all("Cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
          let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
            String($0).javaTrimmed
          }
          guard parts.count == 2, !parts[0].isEmpty else { return nil }
          let isQuoted = parts[1].count > 1 && parts[1].hasPrefix("\"") && parts[1].hasSuffix("\"")
          return (parts[0], isQuoted ? String(parts[1].dropFirst().dropLast()) : parts[1])
        })
    case "body":
      return .string(
        bodyText.withLock { text in
          let decoded = text ?? String(decoding: body, as: UTF8.self)
          text = decoded
          return decoded
        })
    case "bodyAsBase64": return .string(Base64.encode(body))
    case "clientIp": return .string(clientAddress)
    case "multipart", "isMultipart":
      return .bool(headers["Content-Type"]?.lowercased().hasPrefix("multipart/") == true)
    case "parts":
      return .map(
        TemplateMap(
          parts().map { part in
            let members: [(String, TemplateValue)] = [
              ("name", .string(part.name)), ("headers", Self.headers(part.headers)),
              ("body", .string(String(decoding: part.body, as: UTF8.self))),
              ("bodyAsBase64", .string(Base64.encode(part.body))),
            ]
            return (part.name, .map(TemplateMap(members)))
          }))
    default: return nil
    }
  }

  private static func headers(_ headers: Headers) -> TemplateValue {
    guard case .map(let map) = TemplateValue.grouped(headers.fields.map { ($0.name, $0.value) }, ignoringCase: true)
    else {
      return .null
    }
    let sorted = map.members.sorted { $0.name.lowercased() < $1.name.lowercased() }
    return .map(TemplateMap(sorted.map { ($0.name, $0.value) }, ignoresCase: true))
  }
}

extension TemplateValue {
  /// A map of names to the lists of their values.
  static func grouped(_ pairs: [(String, String)], ignoringCase: Bool = false) -> TemplateValue {
    var names: [String] = []
    var values: [String: [TemplateValue]] = [:]
    for (name, value) in pairs {
      let key = ignoringCase ? name.lowercased() : name
      if values[key] == nil { names.append(name) }
      values[key, default: []].append(.string(value))
    }
    return .map(
      TemplateMap(
        names.map { ($0, .list(TemplateList(values[ignoringCase ? $0.lowercased() : $0] ?? [], .first))) },
        ignoresCase: ignoringCase))
  }
}

extension String {
  /// Decodes `%41`, and `+` as a space if asked. Incomplete escapes stay as they are.
  func percentDecoded(plusIsSpace: Bool, isLatin: Bool = false) -> String {
    guard utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return self }
    var output: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2, let text = String(digits), !text.hasPrefix("+"),
        !text.hasPrefix("-"),
        let value = UInt8(text, radix: 16)
      {
        output.append(value)
        rest.removeFirst(2)
      } else {
        output.append(byte == UInt8(ascii: "+") && plusIsSpace ? 0x20 : byte)
      }
    }
    return isLatin
      ? String(String.UnicodeScalarView(output.map { Unicode.Scalar($0) })) : String(decoding: output, as: UTF8.self)
  }
}
