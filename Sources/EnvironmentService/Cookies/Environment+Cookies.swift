import HTTPMessages

extension Environment {
  /// The header fields of a request without the cookies of other upstreams.
  ///
  /// - Parameters:
  ///   - request: in the upstream's terms.
  ///   - index: the upstream.
  ///   - form: how the request came. An app that takes us for its proxy sees each upstream under its own host, and keeps
  ///     their cookies apart by itself.
  /// - Returns: the fields as they are sent, matched and recorded.
  func cookies(_ request: Request, upstream index: Int, form: AddressMap.Form) -> Headers {
    guard form != .absolute, upstreams.count > 1, request.headers["Cookie"] != nil else { return request.headers }
    return cookieOwners.withLock { owners in
      if !owners.knowsRecorded { owners.learn(recorded: replay?.recordedSetCookies ?? []) }
      return owners.passed(request.headers, to: index, target: request.target)
    }
  }

  /// An upstream has answered.
  func learnCookies(_ headers: Headers, upstream index: Int, form: AddressMap.Form) {
    guard form != .absolute, upstreams.count > 1, headers["Set-Cookie"] != nil else { return }
    cookieOwners.withLock { $0.learn(headers.all("Set-Cookie"), from: index) }
  }
}
