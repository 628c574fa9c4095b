import HTTPMessages

extension SoughtRequest {
  /// All in which a recorded request differs from this one, as far as it counts for matching.
  ///
  /// - Parameters:
  ///   - interaction: the recorded one.
  ///   - number: its index.
  ///   - name: its upstream.
  ///   - readBody: reads its body.
  /// - Returns: none when both count as the same.
  func differences(
    from interaction: Interaction, index number: Int, name: String?, readBody: (RecordedBody) throws -> [UInt8]
  ) -> [Difference] {
    do {
      if large != nil || interaction.request.body.length > KeyStream.heldLimit {
        return try rest(from: interaction, name: name) + largeDifferences(from: interaction, index: number)
      }
      let recordedBody = try readBody(interaction.request.body)
      return try recordedBody.withUnsafeBytes { recordedBody in
        try body.withUnsafeBytes { body in
          try differences(
            from: compared(interaction.request, name: name, body: recordedBody), of: interaction, name: name,
            actual: compared(body: body))
        }
      }
    } catch {
      // The parts that are at hand say something all the same.
      return ((try? rest(from: interaction, name: name)) ?? []) + [
        Difference(.body, "body", recorded: "what cannot be read (\(error))", actual: "a body")
      ]
    }
  }

  /// In what it differs but for the body.
  private func rest(from interaction: Interaction, name: String?) throws -> [Difference] {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return try differences(
      from: compared(interaction.request, name: name, body: empty), of: interaction, name: name,
      actual: compared(body: empty))
  }

  /// In what bodies differ of which one at least is too long to be at hand.
  private func largeDifferences(from interaction: Interaction, index: Int) throws -> [Difference] {
    guard criteria.body != .none else { return [] }
    let recorded = interaction.request.body.length
    let actual = large?.length ?? body.count
    guard recorded == actual else {
      return [Difference(.body, "body length", recorded: "\(recorded) bytes", actual: "\(actual) bytes")]
    }
    guard let large, try !large.isSame(index) else { return [] }
    return [Difference(.body, "body", recorded: "\(recorded) bytes", actual: "as many, not the same")]
  }

  /// This request, reduced to what counts.
  private func compared(body: UnsafeRawBufferPointer) throws -> ComparedRequest {
    try ComparedRequest(
      method: method, upstream: index(of: upstreamName), target: target, headers: headers, body: body, by: book)
  }

  /// A recorded one, reduced to what counts of this.
  private func compared(
    _ request: RecordedRequest, name: String?, body: UnsafeRawBufferPointer
  ) throws -> ComparedRequest {
    try ComparedRequest(
      method: request.method, upstream: index(of: name), target: RecordedURL(request.url).target,
      headers: request.headers, body: body, by: book, criteria: criteria)
  }

  private func index(of name: String?) -> Int {
    book.upstreams.firstIndex { $0.name == name } ?? -1
  }

  private func differences(
    from recorded: ComparedRequest, of interaction: Interaction, name: String?, actual: ComparedRequest
  ) throws -> [Difference] {
    var differences: [Difference] = []
    if recorded.method != actual.method {
      differences.append(Difference(.method, "method", recorded: recorded.method, actual: actual.method))
    }
    let isElsewhere =
      actual.upstream == nil
      ? recorded.scheme != actual.scheme || recorded.host != actual.host : name != upstreamName
    if isElsewhere { differences.append(Difference(.upstream, "upstream", recorded: name, actual: upstreamName)) }
    if let one = recorded.path, let other = actual.path { differences += Self.pathDifferences(one, other) }
    if let one = recorded.query, let other = actual.query {
      differences += one.differences(from: other, kind: .query, noun: "query item")
    }
    for (one, other) in zip(recorded.headers, actual.headers) where one.values != other.values {
      differences.append(
        Difference(
          .header, "header `\(one.name)`", recorded: one.values.isEmpty ? nil : one.values.joined(separator: ", "),
          actual: other.values.isEmpty ? nil : other.values.joined(separator: ", ")))
    }
    if RequestVariant.decides(interaction.response.status) {
      // What it would be answered with hung on these.
      for name in RequestVariant.names
      where !criteria.headers.contains(name.lowercased()) && !RequestVariant.isIgnored(name, criteria.ignoredHeaders) {
        let (one, other) = (interaction.request.headers[name], headers[name])
        if one != other { differences.append(Difference(.header, "header `\(name)`", recorded: one, actual: other)) }
      }
    }
    differences += BodyDifferences.between(recorded.body, actual.body)
    let own = book.criteria(
      method: interaction.request.method, upstream: name, path: canonicalPath(of: interaction.request)
    ).applied
    if differences.isEmpty, own != criteria.applied {
      differences.append(
        Difference(.rules, "rules that apply", recorded: Self.numbers(own), actual: Self.numbers(criteria.applied)))
    }
    return differences
  }

  private func canonicalPath(of request: RecordedRequest) -> [UInt8] {
    Array(RecordedURL(request.url).path.utf8).withUnsafeBytes { CanonicalPath.bytes(of: $0) }
  }

  private static func numbers(_ rules: [Int]) -> String {
    rules.isEmpty ? "none" : rules.map { "\($0 + 1)" }.joined(separator: ", ")
  }

  /// By segments where there are as many of them and most are the same, else the path as a whole.
  private static func pathDifferences(_ recorded: [UInt8], _ actual: [UInt8]) -> [Difference] {
    guard recorded != actual else { return [] }
    let slash = UInt8(ascii: "/")
    let left = recorded.split(separator: slash, omittingEmptySubsequences: false)
    let right = actual.split(separator: slash, omittingEmptySubsequences: false)
    let changed = zip(left, right).enumerated().filter { !$1.0.elementsEqual($1.1) }
    guard left.count == right.count, changed.count * 2 <= left.count else {
      return [Difference(.path, "path", recorded: Self.text(recorded), actual: Self.text(actual))]
    }
    return changed.map { number, pair in
      Difference(
        .path, "path segment \(number)", recorded: Self.text(Array(pair.0)), actual: Self.text(Array(pair.1)))
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
