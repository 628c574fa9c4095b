import HTTPMessages

/// Translation of `X-Forwarded-Host`, `X-Forwarded-Port`, `X-Forwarded-Proto` and `Forwarded` (RFC 7239). If they name
/// an endpoint, they are changed to name the upstream, as `Host` is.
extension AddressMap {
  /// Translates the forwarding fields. Other fields, and values that name other addresses, are unchanged.
  ///
  /// - Parameters:
  ///   - headers: the fields of a request.
  ///   - index: the upstream that receives the request, which the main port stands for.
  ///   - form: the form of the request.
  func translateForwarded(_ headers: inout Headers, upstream index: Int, form: Form) {
    guard headers.fields.contains(where: { Forwarded($0.name) != nil }) else { return }
    // The port field decides whether a bare loopback host is an endpoint.
    let ofPort = Self.elements(of: "X-Forwarded-Port", in: headers)
      .compactMap { named(port: $0, upstream: index) }.first
    let ofHost = Self.elements(of: "X-Forwarded-Host", in: headers)
      .compactMap { named($0, upstream: index, form: form, port: ofPort) }.first
    for number in headers.fields.indices {
      let value = headers.fields[number].value
      switch Forwarded(headers.fields[number].name) {
      case .host:
        headers.fields[number].value = Self.list(value, ",") { element in
          named(element, upstream: index, form: form, port: ofPort).map { upstreams[$0].authority }
        }
      case .port:
        headers.fields[number].value = Self.list(value, ",") { element in
          let isDefault = ofHost != nil && form == .absolute && element == "80"
          return (named(port: element, upstream: index) ?? (isDefault ? ofHost : nil)).map {
            String(upstreams[$0].origin.port)
          }
        }
      case .scheme:
        guard let upstream = ofHost ?? ofPort else { continue }
        headers.fields[number].value = Self.list(value, ",") { element in
          element.equalsIgnoringASCIICase("http") ? upstreams[upstream].origin.scheme : nil
        }
      case .all:
        headers.fields[number].value = Self.list(value, ",") { element in
          let translated = forwarded(element, upstream: index, form: form)
          return translated == element ? nil : translated
        }
      case nil: continue
      }
    }
  }

  /// Translates one element of `Forwarded`: pairs separated by semicolons.
  private func forwarded(_ element: String, upstream index: Int, form: Form) -> String {
    func pair(_ text: String) -> (name: String, value: String, isQuoted: Bool)? {
      let parts = text.split(separator: "=", maxSplits: 1).map { String($0).trimmingBlanks }
      guard parts.count == 2 else { return nil }
      let isQuoted = parts[1].count > 1 && parts[1].hasPrefix("\"") && parts[1].hasSuffix("\"")
      return (parts[0], isQuoted ? String(parts[1].dropFirst().dropLast()) : parts[1], isQuoted)
    }
    let pairs = element.split(separator: ";").compactMap { pair(String($0)) }
    let host = pairs.first { $0.name.equalsIgnoringASCIICase("host") }
    guard let host, let upstream = named(host.value, upstream: index, form: form, port: nil) else { return element }
    let origin = upstreams[upstream].origin
    return Self.list(element, ";") { text in
      guard let (name, value, isQuoted) = pair(text) else { return nil }
      if name.equalsIgnoringASCIICase("host") {
        let needsQuotes = isQuoted || origin.authority.contains { ":[]".contains($0) }
        return needsQuotes ? "\(name)=\"\(origin.authority)\"" : "\(name)=\(origin.authority)"
      }
      guard name.equalsIgnoringASCIICase("proto"), value.equalsIgnoringASCIICase("http") else { return nil }
      return isQuoted ? "\(name)=\"\(origin.scheme)\"" : "\(name)=\(origin.scheme)"
    }
  }

  /// The upstream that `host[:port]` stands for in the app.
  private func named(_ authority: String, upstream index: Int, form: Form, port: Int?) -> Int? {
    let lowered = authority.utf8.map(\.asciiLowercased)
    if let endpoint = endpoints.first(where: { $0.authority == lowered }) { return endpoint.upstream ?? index }
    if form == .absolute {
      return self.upstream(authority: authority).flatMap { changes($0, form: .absolute) ? $0 : nil }
    }
    return hosts.contains { $0.equalsIgnoringASCIICase(authority) } ? port : nil
  }

  private func named(port: String, upstream index: Int) -> Int? {
    guard let port = UInt16(port) else { return nil }
    return port == mainPort ? index : upstreams.firstIndex { $0.port == port }
  }

  private static func elements(of name: String, in headers: Headers) -> [String] {
    headers.all(name).flatMap { $0.split(separator: ",") }.map(\.trimmingBlanks)
  }

  /// Replaces elements of a list and keeps the white space around them.
  private static func list(_ value: String, _ separator: Character, _ replaced: (String) -> String?) -> String {
    value.split(separator: separator, omittingEmptySubsequences: false).map { part in
      let bare = String(part).trimmingBlanks
      guard let replacement = replaced(bare) else { return String(part) }
      return part.prefix { $0 == " " || $0 == "\t" } + replacement
    }.joined(separator: String(separator))
  }

  /// The fields that this extension translates.
  private enum Forwarded {
    case host, port, scheme, all

    init?(_ name: String) {
      // Checks the length first: few field names have these lengths.
      switch name.utf8.count {
      case 9 where name.equalsIgnoringASCIICase("Forwarded"): self = .all
      case 16 where name.equalsIgnoringASCIICase("X-Forwarded-Host"): self = .host
      case 16 where name.equalsIgnoringASCIICase("X-Forwarded-Port"): self = .port
      case 17 where name.equalsIgnoringASCIICase("X-Forwarded-Proto"): self = .scheme
      default: return nil
      }
    }
  }
}
