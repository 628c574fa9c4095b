package import Basics
import Foundation
package struct JSONSchema: Sendable {
  package init(_ j: JSON, version: String?) throws(CodedError) {}
  func accepts(_ v: MatchedValue, _ c: MatchContext) throws(CodedError) -> Bool { true }
}
