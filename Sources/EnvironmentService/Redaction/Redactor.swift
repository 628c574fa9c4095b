import LaunchContract

/// Takes the secrets that an environment knows out of texts that are kept: its own token, and its credentials.
///
/// They are found as they are, percent-encoded (in whole or in part), as JSON writes them in a string, and in base64,
/// also in the middle of something longer. One of less than four bytes is left alone: it would be found everywhere.
struct Redactor: Sendable {
  /// What stands in a secret's place.
  static let mark = "<secret>"
  private static let shortest = 4

  /// The longest first: one may begin with another.
  private let needles: [SecretNeedle]
  /// Which of them a byte may begin.
  private let beginning: [[Int]]

  init(_ specification: EnvironmentSpecification, token: String) {
    self.init(specification.credentials.map(\.secret) + [Array(token.utf8)])
  }

  init(_ snapshot: EnvironmentSnapshot) {
    self.init(snapshot.specification, token: snapshot.token.revealed)
  }

  init(_ secrets: [[UInt8]]) {
    needles = secrets.filter { $0.count >= Self.shortest }
      .flatMap { [$0] + Base64Forms.all(of: $0) }
      .sorted { $0.count > $1.count }
      .map(SecretNeedle.init)
    var beginning = [[Int]](repeating: [], count: 256)
    for (index, needle) in needles.enumerated() {
      for byte in needle.firstBytes { beginning[Int(byte)].append(index) }
    }
    self.beginning = beginning
  }

  /// The text, with a mark in the place of each secret.
  func redact(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes -> String? in
      var output: [UInt8]?
      var copied = 0
      var position = 0
      while position < bytes.count {
        guard let end = end(in: bytes, from: position) else {
          position += 1
          continue
        }
        output = (output ?? []) + bytes[copied..<position] + Self.mark.utf8
        position = end
        copied = end
      }
      return output.map { String(decoding: $0 + bytes[copied...], as: UTF8.self) }
    } ?? text
  }

  /// The end of the secret that begins at a position.
  private func end(in bytes: UnsafeBufferPointer<UInt8>, from position: Int) -> Int? {
    let candidates = beginning[Int(bytes[position])]
    var index = 0
    while index < candidates.count {
      if let end = needles[candidates[index]].end(in: bytes, from: position) { return end }
      index += 1
    }
    return nil
  }
}

extension Report.Unmatched {
  func redacted(_ redactor: Redactor) -> Self {
    Self(
      method: redactor.redact(method), url: redactor.redact(url),
      nearest: nearest.map {
        .init(
          index: $0.index, method: $0.method, url: redactor.redact($0.url),
          differences: $0.differences.map(redactor.redact), rules: $0.rules?.map(redactor.redact))
      }, refusal: refusal.map(redactor.redact))
  }

  /// About what it takes in memory.
  var size: Int {
    nearest.reduce(100 + method.utf8.count + url.utf8.count + (refusal?.utf8.count ?? 0)) { size, nearest in
      (nearest.differences + (nearest.rules ?? [])).reduce(size + 100 + nearest.url.utf8.count) {
        $0 + 16 + $1.utf8.count
      }
    }
  }
}

extension ContractValue {
  func redacted(_ redactor: Redactor) -> ContractValue {
    switch self {
    case .string(let text): .string(redactor.redact(text))
    case .array(let values): .array(values.map { $0.redacted(redactor) })
    case .object(let members): .object(members.mapValues { $0.redacted(redactor) })
    default: self
    }
  }
}
