import HTTPMessages

/// The header fields that request a range, or a response only under a condition.
///
/// They count only for requests whose recorded response depended on them: 206, 304, 412 or 416. Otherwise they
/// are ignored like all headers, so an app with a different cache still gets its 200.
package enum RequestVariant {
  /// `Range` and the conditions of RFC 9110, 13.1.
  package static let names = [
    "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since",
  ]

  /// Whether a response with this status depended on these fields.
  package static func decides(_ status: Int) -> Bool {
    switch status {
    case 206, 304, 412, 416: true
    default: false
    }
  }

  /// The key of a request including these fields.
  ///
  /// - Parameters:
  ///   - key: the request's key without them.
  ///   - headers: as sent.
  ///   - ignored: names that do not count.
  /// - Returns: the key; nil if the request has none of these fields.
  static func key(_ key: MatchKey, _ headers: Headers, ignoring ignored: [Glob] = []) -> MatchKey? {
    var hash = SipHash()
    var hasAny = false
    for (number, name) in names.enumerated() where !isIgnored(name, ignored) {
      for value in headers.all(name) {
        hasAny = true
        hash.append(number: number)
        hash.append(text: value)
      }
    }
    guard hasAny else { return nil }
    hash.append(number: Int(truncatingIfNeeded: key.high))
    hash.append(number: Int(truncatingIfNeeded: key.low))
    let (high, low) = hash.finish()
    return MatchKey(high: high, low: low)
  }

  static func isIgnored(_ name: String, _ ignored: [Glob]) -> Bool {
    !ignored.isEmpty && ignored.contains { $0.matches(Array(name.utf8)) }
  }
}

extension MatchKeyMaker {
  /// The key of a request including the fields of ``RequestVariant``.
  ///
  /// - Returns: the key; nil if the request has none that count.
  func variant(
    of key: MatchKey, method: String, upstream: Int, target: String, headers: Headers
  ) -> MatchKey? {
    guard RequestVariant.names.contains(where: { headers[$0] != nil }) else { return nil }
    guard let book else { return RequestVariant.key(key, headers) }
    let path = Array(target.utf8.prefix { $0 != UInt8(ascii: "?") }).withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    let name = book.upstreams.indices.contains(upstream) ? book.upstreams[upstream].name : nil
    let criteria = book.criteria(method: method, upstream: name, path: path)
    return RequestVariant.key(key, headers, ignoring: criteria.ignoredHeaders)
  }
}

/// The requests whose recordings differ by the fields of ``RequestVariant``.
struct VariantIndex: Sendable {
  /// The key of each interaction including the fields; empty if no recordings differ.
  let keys: [MatchKey?]
  /// The keys of requests with variants. The value is the fallback for a request without the fields that was never
  /// recorded without them: a variant that was always answered in full.
  private let variants: [MatchKey: MatchKey?]

  private init(keys: [MatchKey?], variants: [MatchKey: MatchKey?]) {
    self.keys = keys
    self.variants = variants
  }

  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - plain: the key of each interaction; nil if it is never played. Empty if no response depended on the fields.
  ///   - variantOf: its key including the fields, if it has any.
  init(
    _ interactions: [Interaction], keys plain: [MatchKey?], variantOf: (Int, MatchKey) -> MatchKey?
  ) {
    var variants: [MatchKey: MatchKey?] = [:]
    for (number, key) in plain.enumerated() where RequestVariant.decides(interactions[number].response.status) {
      if let key, variantOf(number, key) != nil { variants[key] = .some(nil) }
    }
    var keys: [MatchKey?] = plain
    var hasPlain = Set<MatchKey>()
    var isFull: [MatchKey: Bool] = [:]
    var order: [(key: MatchKey, variant: MatchKey)] = []
    for (number, key) in plain.enumerated() {
      guard let key, variants[key] != nil else { continue }
      guard let variant = variantOf(number, key) else {
        hasPlain.insert(key)
        continue
      }
      keys[number] = variant
      if isFull[variant] == nil { order.append((key, variant)) }
      let isWhole =
        !RequestVariant.decides(interactions[number].response.status)
        && interactions[number].request.headers["Range"] == nil
      isFull[variant] = isFull[variant, default: true] && isWhole
    }
    for (key, variant) in order.reversed() where !hasPlain.contains(key) && isFull[variant] == true {
      variants[key] = .some(variant)
    }
    self.init(keys: variants.isEmpty ? [] : keys, variants: variants)
  }

  var isEmpty: Bool { variants.isEmpty }

  /// The key to look up a request.
  ///
  /// - Parameters:
  ///   - key: the request's key without the fields.
  ///   - variant: its key including the fields; nil if it has none.
  ///   - isRecorded: whether a key was recorded.
  /// - Returns: the variant's key if recorded, otherwise the key of a response that does not depend on the fields.
  func found(_ key: MatchKey, _ variant: MatchKey?, isRecorded: (MatchKey) -> Bool) -> MatchKey {
    guard let fallback = variants[key] else { return key }
    if let variant, isRecorded(variant) { return variant }
    return isRecorded(key) ? key : fallback ?? key
  }
}
