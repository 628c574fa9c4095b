import Cassettes
import HTTPMessages

/// A request and its response as saved by another tool, not yet checked for replay.
struct ForeignInteraction {
  var method: String
  var url: String
  var requestHeaders: [Headers.Field] = []
  var requestBody: [UInt8] = []
  var status: Int
  var reason = ""
  var responseHeaders: [Headers.Field] = []
  var responseBody: [UInt8] = []
  /// Whether the body is complete and stored without content coding. Header fields must then not claim otherwise.
  var isDecoded = false
  /// The maximum decoded size of the body in bytes.
  var decodedLimit = 1 << 30
  /// The start time in RFC 3339 format; nil if the tool did not save it.
  var startedAt: String?

  /// Converts the interaction for a cassette. Returns nil, and adds a loss with the reason, if it cannot be replayed.
  ///
  /// If the tool saved no time, the response's `Date` is used; without it, `startedAt` is empty.
  func interaction(at place: Int, _ losses: inout Losses) -> Interaction? {
    guard let url = requestURL(at: place, &losses) else { return nil }
    let token = "!#$%&'*+-.^_`|~".utf8
    let isToken = method.utf8.allSatisfy { $0.isASCIILetterOrDigit || token.contains($0) }
    guard !method.isEmpty, isToken else {
      losses.add("'\(method.shortened())' is no method: the entry is left out", at: place)
      return nil
    }
    guard 200...999 ~= status else {
      losses.add("status \(status) is not a final response's: the entry is left out", at: place)
      return nil
    }
    let request = RecordedRequest(
      method: method, url: url, headers: headers(requestHeaders, of: "request", at: place, &losses),
      body: .bytes(requestBody))
    let response = recordedResponse(at: place, &losses)
    let startedAt = startedAt ?? response.headers["Date"].flatMap(HAR.cookieDate)
    if startedAt == nil { losses.add(Losses.noTime, at: place) }
    return Interaction(
      upstream: nil, startedAt: startedAt ?? "", milliseconds: 0, request: request, response: response)
  }

  private func requestURL(at place: Int, _ losses: inout Losses) -> String? {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    guard scheme == "http" || scheme == "https" else {
      losses.add("the URL '\(url.shortened())' is not one of http or https: the entry is left out", at: place)
      return nil
    }
    guard RecordedURL(url).origin != nil else {
      losses.add("the URL '\(url.shortened())' has no host that can be asked: the entry is left out", at: place)
      return nil
    }
    var text = url
    if let hash = text.utf8.firstIndex(of: UInt8(ascii: "#")) {
      losses.add("the URL's fragment is left out, since it is never sent", at: place)
      text = String(text[..<hash])
    }
    let bare = text.withoutUserInformation
    if bare.utf8.count != text.utf8.count { losses.add("user and password in the URL are left out", at: place) }
    return bare
  }

  private func headers(
    _ fields: [Headers.Field], of message: String, at place: Int, _ losses: inout Losses
  ) -> Headers {
    Headers(
      fields.filter { field in
        let isName = !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x3A && $0 != 0x7F }
        let isValue = !field.value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
        if !isName || !isValue {
          losses.add("\(message) header '\(field.name.shortened(40))' cannot be sent, and is left out", at: place)
        }
        return isName && isValue
      })
  }

  private func recordedResponse(at place: Int, _ losses: inout Losses) -> RecordedResponse {
    var response = RecordedResponse(
      status: status, reason: reason, headers: headers(responseHeaders, of: "response", at: place, &losses),
      body: .bytes(responseBody))
    if isDecoded {
      for name in ["Content-Encoding", "Transfer-Encoding"] where response.headers[name] != nil {
        response.headers.remove(name)
        losses.add("response header \(name) is left out, since the body was saved without it", at: place)
      }
      if response.headers["Content-Length"] != nil, !responseBody.isEmpty {
        response.headers.set("Content-Length", "\(responseBody.count)")
      }
      return response
    }
    let value = response.headers.all("Content-Encoding").joined(separator: ",")
    guard !responseBody.isEmpty, status != 206 else { return response }
    guard let codings = ContentCodings(header: value) else {
      response.isBodyAsSent = true
      return response
    }
    do {
      response.body = .bytes(try codings.decode(responseBody, limit: decodedLimit))
      return response
    } catch is BodyTooLarge {
      losses.add(
        "the body is too large once decoded: it is replayed as it is, and secrets in it are not redacted", at: place)
      response.isBodyAsSent = true
      return response
    } catch {}
    if responseBody.starts(with: [0x1F, 0x8B]) {
      losses.add("the body is not whole \(value): it is replayed as it is", at: place)
      response.isBodyAsSent = true
    } else {
      // Recorders that decode bodies often leave the header field unchanged.
      response.headers.remove("Content-Encoding")
      losses.add("response header Content-Encoding is left out, since the body was saved without it", at: place)
    }
    return response
  }
}

extension UInt8 {
  /// Whether the byte is one of A-Z, a-z, 0-9.
  fileprivate var isASCIILetterOrDigit: Bool {
    self &- 0x30 < 10 || (self | 0x20) &- 0x61 < 26
  }
}
