import HTTPMessages

extension AddressMap {
  /// A `Set-Cookie` value (RFC 6265, 4.1) for a client that knows the upstream as an endpoint.
  ///
  /// - `Domain` of a declared upstream, or of a parent of it, goes: a cookie for 127.0.0.1 is for that host only.
  ///   A client that takes us for its proxy still sees the upstream's own host: there it stays.
  /// - `Secure`, and `SameSite=None` and `Partitioned`, which need it, go where the upstream is `https` and the endpoint
  ///   is not: without `SameSite` a browser takes `Lax`, and to it all endpoints are one site, whose port does not count. The
  ///   prefixes `__Secure-` and `__Host-` demand it, so that with them a client gets its chance.
  /// - `Path` gets the segment in front where the upstream is a path segment; `__Host-` demands `/`.
  func cookie(_ value: String, upstream index: Int, form: Form) -> String {
    let parts = value.split(separator: ";", omittingEmptySubsequences: false)
    let name = parts[0].drop { $0 == " " }.lowercased()
    let isForHost = name.hasPrefix("__host-")
    let needsSecure = isForHost || name.hasPrefix("__secure-")
    let losesSecure = upstreams[index].origin.scheme == "https" && !needsSecure
    var kept = [String(parts[0])]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let content = pair.count == 2 ? pair[1].trimmingBlanks : ""
      switch pair[0].trimmingBlanks.lowercased() {
      case "domain" where form != .absolute && isOfUpstream(domain: content): continue
      case "secure" where losesSecure: continue
      case "partitioned" where losesSecure: continue
      case "samesite" where losesSecure && content.equalsIgnoringASCIICase("None"): continue
      case "path" where form == .pathSegment && !isForHost && content.utf8.first == AddressByte.slash:
        let start = part.firstIndex(of: "/") ?? part.startIndex
        kept.append("\(part[..<start])/\(segments[index])\(part[start...])")
      default: kept.append(String(part))
      }
    }
    return kept.joined(separator: ";")
  }

  private func isOfUpstream(domain: String) -> Bool {
    let domain = domain.lowercased().drop { $0 == "." }
    guard !domain.isEmpty else { return false }
    return upstreams.contains { $0.origin.host == domain || $0.origin.host.hasSuffix("." + domain) }
  }
}
