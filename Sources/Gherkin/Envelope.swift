/// A message of Cucumber's stream: a line of NDJSON.
package enum Envelope: Hashable, Sendable, Encodable {
  case source(Source)
  case gherkinDocument(GherkinDocument)
  case pickle(Pickle)
  case parseError(ParseError)

  private enum CodingKeys: CodingKey { case source, gherkinDocument, pickle, parseError }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .source(let source): try container.encode(source, forKey: .source)
    case .gherkinDocument(let document): try container.encode(document, forKey: .gherkinDocument)
    case .pickle(let pickle): try container.encode(pickle, forKey: .pickle)
    case .parseError(let error): try container.encode(error, forKey: .parseError)
    }
  }
}

/// The text of a feature file.
package struct Source: Hashable, Sendable, Codable {
  /// The path or URL of the file.
  package let uri: String
  /// The text.
  package let data: String
  /// The format.
  package let mediaType: SourceMediaType

  package init(uri: String, data: String) {
    self.uri = uri
    self.data = data
    mediaType = SourceMediaType(uri: uri)
  }
}

/// The formats of feature files.
package enum SourceMediaType: String, Hashable, Sendable, Codable {
  /// A `.feature` file.
  case plain = "text/x.cucumber.gherkin+plain"
  /// A `.feature.md` file.
  case markdown = "text/x.cucumber.gherkin+markdown"

  /// - Parameter uri: the path or URL of the file; one that ends in `.md` is Markdown.
  package init(uri: String) {
    self = uri.hasSuffix(".md") ? .markdown : .plain
  }
}

/// A problem in a feature file.
package struct ParseError: Hashable, Sendable, Codable {
  package var source: SourceReference
  package var message: String
}

/// A place in a file.
package struct SourceReference: Hashable, Sendable, Codable {
  /// The path or URL of the file.
  package var uri: String
  package var location: Location
}
