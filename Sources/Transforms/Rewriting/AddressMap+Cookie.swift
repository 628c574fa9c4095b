import HTTPMessages

extension AddressMap {
  /// Adapts a `Set-Cookie` value (RFC 6265, section 4.1) for a client that reaches the upstream through an endpoint.
  ///
  /// - `Domain` is removed if it names a declared upstream or a parent domain of one: a cookie for 127.0.0.1 is valid
  ///   for that host only. For a client that uses Diorama as a proxy it stays, since that client sees the upstream's
  ///   own host.
  /// - `Secure`, and `SameSite=None` and `Partitioned`, which require it, are removed if the upstream uses `https`,
  ///   because the endpoint does not. Without `SameSite`, browsers default to `Lax`; all endpoints are the same site,
  ///   since ports do not count. The prefixes `__Secure-` and `__Host-` require `Secure`, so cookies with these names
  ///   keep it.
  /// - `Path` is prefixed with the upstream's segment in path segment form, except for `__Host-`, which requires `/`.
  /// - With the upstream's own URL, nothing changes.
  func cookie(_ value: String, upstream index: Int, form: Form) -> String {
    guard form != .ownURL else { return value }
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
