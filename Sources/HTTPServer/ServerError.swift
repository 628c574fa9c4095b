/// What went wrong with a server: what, where, and what to do next, in one line.
package struct ServerError: Error, Sendable, CustomStringConvertible {
  /// What happened.
  package let what: String
  /// Where: a port, a header field.
  package let location: String
  /// What to do about it.
  package let next: String

  package init(what: String, where location: String, next: String) {
    self.what = what
    self.location = location
    self.next = next
  }

  package var description: String { "\(location): \(what); \(next)" }
}
