import HTTPMessages

extension SoughtRequest {
  /// All in which a recorded request differs from this one, as far as it counts for matching.
  ///
  /// - Parameters:
  ///   - interaction: the recorded one.
  ///   - name: its upstream.
  ///   - readBody: reads its body.
  /// - Returns: none when both count as the same.
  func differences(
    from interaction: Interaction, name: String?, readBody: (RecordedBody) throws -> [UInt8]
  ) -> [Difference] {
    let request = interaction.request
    var differences: [Difference] = []
    if request.method != method {
      differences.append(Difference(.method, "method", recorded: request.method, actual: method))
    }
    if name != upstreamName {
      differences.append(Difference(.upstream, "upstream", recorded: name, actual: upstreamName))
    }
    let url = RecordedURL(request.url)
    differences += pathDifferences(Array(url.path.utf8))
    let recordedQuery = Array((url.query ?? "").utf8).withUnsafeBytes { QueryItems($0) }
    let actualQuery = query.withUnsafeBytes { QueryItems($0) }
    differences += recordedQuery.differences(from: actualQuery, kind: .query, noun: "query item")
    do {
      let recorded = try readBody(request.body)
      differences += bodyDifferences(recorded, recordedType: request.headers["Content-Type"])
    } catch {
      differences.append(Difference(.body, "body", recorded: "what cannot be read (\(error))", actual: "a body"))
    }
    return differences
  }

  /// By segments where there are as many of them and most are the same, else the path as a whole.
  private func pathDifferences(_ recordedPath: [UInt8]) -> [Difference] {
    let recorded = recordedPath.withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    guard recorded != canonicalPath else { return [] }
    let slash = UInt8(ascii: "/")
    let left = recorded.split(separator: slash, omittingEmptySubsequences: false)
    let right = canonicalPath.split(separator: slash, omittingEmptySubsequences: false)
    let changed = zip(left, right).enumerated().filter { !$1.0.elementsEqual($1.1) }
    guard left.count == right.count, changed.count * 2 <= left.count else {
      return [Difference(.path, "path", recorded: Self.text(recorded), actual: Self.text(canonicalPath))]
    }
    return changed.map { number, pair in
      Difference(
        .path, "path segment \(number)", recorded: Self.text(Array(pair.0)), actual: Self.text(Array(pair.1)))
    }
  }

  private func bodyDifferences(_ recorded: [UInt8], recordedType: String?) -> [Difference] {
    guard recorded != body || recordedType != contentType else { return [] }
    return recorded.withUnsafeBytes { recorded in
      body.withUnsafeBytes { body in
        Array((recordedType ?? "").utf8).withUnsafeBytes { recordedType in
          Array((contentType ?? "").utf8).withUnsafeBytes { contentType in
            BodyDifferences.between(
              .init(bytes: recorded, type: recordedType), .init(bytes: body, type: contentType))
          }
        }
      }
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
