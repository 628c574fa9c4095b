import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Compares the header fields of two responses, except fields that programs usually ignore.
enum HeaderComparison {
  static func changes(recorded: Headers, live: Headers) -> Changes {
    var changes = Changes()
    let old = recorded.byName
    let new = live.byName
    for name in Set(old.keys).union(new.keys).sorted() where !isNoise(name) {
      let title = "header `\(old[name]?.first?.name ?? new[name]?.first?.name ?? name)`"
      let was = old[name]?.map(\.value)
      let now = new[name]?.map(\.value)
      switch (was, now) {
      case (let was?, let now?): changes += between(was, now, name: name, title: title)
      case (nil, nil): break
      // The value may be a secret; only the presence of the field is reported.
      case (_?, nil): changes += absence(Change(.gone, title), name: name)
      case (nil, _?): changes += absence(Change(.added, title), name: name)
      }
    }
    return changes
  }

  /// Changes of fields whose presence depends on the data do not count as shape changes: the last page has no `next`
  /// link.
  private static func absence(_ change: Change, name: String) -> Changes {
    let isOfData = ["link", "content-range", "retry-after", "content-language", "age"].contains(name)
    guard isOfData else { return Changes(shape: [change]) }
    return Changes(values: [Change(.value, change.place, was: change.was, now: change.now)])
  }

  private static func between(_ was: [String], _ now: [String], name: String, title: String) -> Changes {
    guard was != now else { return Changes() }
    switch name {
    case "set-cookie":
      // Compares cookie names only, because the values are secrets.
      return names(was.map(cookieName), now.map(cookieName), title: "cookie")
    case "allow", "access-control-allow-methods", "access-control-allow-headers":
      return names(tokens(was), tokens(now), title: title)
    default:
      return Changes(values: [Change(.value, title, was: quoted(was), now: quoted(now))])
    }
  }

  private static func names(_ was: [String], _ now: [String], title: String) -> Changes {
    let gone = Set(was).subtracting(now).sorted().map { Change(.gone, "\(title) `\($0)`") }
    let added = Set(now).subtracting(was).sorted().map { Change(.added, "\(title) `\($0)`") }
    guard gone.isEmpty, added.isEmpty else { return Changes(shape: gone + added) }
    return Changes(values: [Change(.value, title)])
  }

  private static func cookieName(_ field: String) -> String { String(field.prefix { $0 != "=" && $0 != ";" }) }

  private static func tokens(_ fields: [String]) -> [String] {
    fields.flatMap { $0.split(separator: ",") }.map { MediaType.trimmed($0).lowercased() }.filter { !$0.isEmpty }
  }

  private static func quoted(_ values: [String]) -> String {
    "`\(Preview.shortened(values.joined(separator: ", "), to: Preview.usual).escapedForTerminal)`"
  }

  /// Fields of the connection, the server or intermediaries. Programs do not read them, and they change at any time.
  private static func isNoise(_ name: String) -> Bool {
    exact.contains(name) || prefixes.contains { name.hasPrefix($0) } || suffixes.contains { name.hasSuffix($0) }
  }

  /// `content-type` is compared separately; `content-encoding` and `vary` depend on what the client accepts.
  private static let exact: Set<String> = [
    "date", "server", "via", "connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding",
    "content-type", "vary", "x-powered-by", "x-runtime", "x-timer", "x-served-by", "traceparent", "tracestate",
    "alt-svc", "nel", "report-to", "reporting-endpoints", "server-timing", "strict-transport-security",
    "x-response-time",
    "expires", "p3p", "x-varnish", "x-cloud-trace-context", "trailer", "upgrade", "x-nginx-cache-status", "cdn-loop",
  ]
  private static let prefixes = [
    "cf-", "x-amz-", "x-amzn-", "x-cache", "x-envoy-", "x-b3-", "x-fastly-", "x-azure-", "x-ms-request", "x-goog-",
    "x-guploader-", "x-vercel-", "fly-", "x-datadog-", "sentry-", "proxy-",
  ]
  private static let suffixes = ["request-id", "requestid", "correlation-id", "trace-id"]
}

extension Headers {
  /// All fields by their name in lower case.
  fileprivate var byName: [String: [Field]] { Dictionary(grouping: fields) { $0.name.lowercased() } }
}
