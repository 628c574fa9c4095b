import Basics
import Transforms
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
  ///
  /// - Parameters:
  ///   - headers: as it sent them.
  ///   - index: the upstream.
  ///   - target: of the request.
  ///   - form: how it came.
  ///   - answer: the fields as the app gets them. One that would take another upstream's cookie from the app's jar, which
  ///     knows no ports, is made one that sets it anew.
  func learnCookies(
    _ headers: Headers, upstream index: Int, target: String, form: AddressMap.Form, in answer: inout Headers
  ) {
    guard form != .absolute, upstreams.count > 1, headers["Set-Cookie"] != nil else { return }
    let shown = answer.all("Set-Cookie")
    let fields = headers.all("Set-Cookie")
    guard shown.count == fields.count else { return }
    let kept = cookieOwners.withLock {
      $0.learn(fields, shown: shown, from: index, target: target, date: headers["Date"])
    }
    // Where a path segment names the upstream, so do the cookies' paths.
    guard form == .ownPort, !kept.isEmpty else { return }
    let places = answer.fields.indices.filter { answer.fields[$0].name.equalsIgnoringASCIICase("Set-Cookie") }
    for (position, field) in kept { answer.fields[places[position]].value = field }
  }
}
