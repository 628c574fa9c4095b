package import Basics

/// What to redact in recordings, in addition to the environment's credentials and the headers that carry credentials.
package struct RedactionRules: ConfigurationPart {
  package static var member: String { "redaction" }

  /// Header fields whose whole value is redacted; names are compared without case.
  @Omittable package var headers: [String] = []
  /// Query items whose value is redacted, in the request's URL and in URLs in headers and text; compared without case.
  @Omittable package var query: [String] = []
  /// Places in JSON bodies: JSON paths (RFC 9535) of names, indices, `*` and `..`.
  @Omittable package var json: [String] = []
  /// Fields of form bodies, urlencoded and multipart; compared without case.
  @Omittable package var form: [String] = []
  /// Regular expressions; every match is redacted.
  @Omittable package var patterns: [String] = []
  @Omittable package var keep = Keep()

  /// Exceptions from the default.
  package struct Keep: Codable, Sendable, Equatable, EmptyInitializable {
    /// Header fields that would be redacted without being named.
    @Omittable package var headers: [String] = []
    /// Fields of queries and bodies that would be redacted without being named, such as `password`.
    @Omittable package var fields: [String] = []
    /// Credentials that are not secret, as `SERVICE/ACCOUNT`, such as a user's name.
    @Omittable package var credentials: [String] = []

    package init() {}

    package init(headers: [String], fields: [String], credentials: [String]) {
      self.headers = headers
      self.fields = fields
      self.credentials = credentials
    }
  }

  package init() {}

  /// Its JSON.
  package var document: JSON {
    (try? JSON.encode(self)).flatMap { try? JSON.parse([UInt8]($0)) } ?? .object([JSON.Member]())
  }

  /// Returns these rules and the others.
  package func adding(_ others: RedactionRules) -> RedactionRules {
    var all = self
    all.headers.appendNew(others.headers)
    all.query.appendNew(others.query)
    all.json.appendNew(others.json)
    all.form.appendNew(others.form)
    all.patterns.appendNew(others.patterns)
    all.keep.headers.appendNew(others.keep.headers)
    all.keep.fields.appendNew(others.keep.fields)
    all.keep.credentials.appendNew(others.keep.credentials)
    return all
  }
}

extension Array where Element: Equatable {
  /// Appends the elements that are not in the list yet.
  package mutating func appendNew(_ others: [Element]) { self += others.filter { !contains($0) } }
}
