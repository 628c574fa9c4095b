import Basics
import Transforms
import HTTPMessages

extension Environment {
  /// A request's header fields, without the cookies of other upstreams.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs.
  ///   - index: the upstream's index.
  ///   - form: how the request named the upstream, which determines whether the app keeps cookies apart itself.
  /// - Returns: the fields to send, match and record.
  func cookies(_ request: Request, upstream index: Int, form: AddressMap.Form) -> Headers {
    guard !form.showsHosts, upstreams.count > 1, request.headers["Cookie"] != nil else { return request.headers }
    return cookieOwners.withLock { owners in
      if !owners.knowsRecorded { owners.learn(recorded: replay?.recordedSetCookies ?? []) }
      return owners.passed(request.headers, to: index, target: request.target)
    }
  }

  /// Remembers which upstream set which cookies.
  ///
  /// - Parameters:
  ///   - headers: the upstream's response headers.
  ///   - index: the upstream's index.
  ///   - target: the request's target.
  ///   - form: how the request named the upstream.
  ///   - answer: the fields for the app. A field that would remove another upstream's cookie from the app's cookie jar,
  ///     which ignores ports, is changed to set that cookie again.
  func learnCookies(
    _ headers: Headers, upstream index: Int, target: String, form: AddressMap.Form, in answer: inout Headers
  ) {
    guard !form.showsHosts, upstreams.count > 1, headers["Set-Cookie"] != nil else { return }
    let shown = answer.all("Set-Cookie")
    let fields = headers.all("Set-Cookie")
    guard shown.count == fields.count else { return }
    let kept = cookieOwners.withLock {
      $0.learn(fields, shown: shown, from: index, target: target, date: headers["Date"])
    }
    // If a path segment names the upstream, it is part of the cookies' paths too.
    guard form == .ownPort, !kept.isEmpty else { return }
    let places = answer.fields.indices.filter { answer.fields[$0].name.equalsIgnoringASCIICase("Set-Cookie") }
    for (position, field) in kept { answer.fields[places[position]].value = field }
  }
}
