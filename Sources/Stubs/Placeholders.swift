package import Basics
import Foundation
package struct JSONSchema: Sendable {
  package init(_ j: JSON, version: String?) throws(CodedError) {}
  func accepts(_ v: MatchedValue, _ c: MatchContext) throws(CodedError) -> Bool { true }
}
package struct XMLEquality: Sendable {
  package struct Options { var hasPlaceholders: Bool; var openingDelimiter: String?; var closingDelimiter: String?; var exempted: [String]; var namespaceAwareness: String? }
  package init(_ t: String, _ o: Options) throws(CodedError) {}
  func matches(_ d: XMLDocument, _ c: MatchContext) throws(CodedError) -> Bool { true }
}
package struct XPathQuery: Sendable {
  package init(_ t: String, namespaces: [String: String]) throws(CodedError) {}
  func values(in: XMLDocument) throws(CodedError) -> [String] { [] }
}
package final class XMLDocument { package init(_ b: [UInt8]) throws(CodedError) {} }
package struct DateTimePattern: Sendable {
  package struct Options { var actualFormat: String?; var truncateExpected: String?; var truncateActual: String?; var applyTruncationLast: Bool; var expectedOffset: Int?; var expectedOffsetUnit: String? }
  package enum Relation: String, Sendable { case before, after, equalToDateTime }
  package init(_ r: Relation, _ t: String, _ o: Options) throws(CodedError) {}
  func matches(_ t: String, now: Date, timeZone: TimeZone) -> Bool { true }
}
