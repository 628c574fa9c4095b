import Basics
import Foundation
import Stubs
import Testing

/// The official test suite of RFC 9535, `Fixtures/JSONPath/cts.json` (see LICENSE there).
@Suite("JSON path compliance")
struct JSONPathComplianceTests {
  private static func cases() throws -> [JSON] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fixtures/JSONPath/cts.json")
    return try JSON.parse(Array(Data(contentsOf: file)))["tests"]?.array ?? []
  }

  @Test("passes the compliance test suite of RFC 9535")
  func suite() throws {
    let cases = try Self.cases()
    #expect(cases.count > 700)
    for test in cases {
      let name = Comment(rawValue: test["name"]?.string ?? "")
      let selector = test["selector"]?.string ?? ""
      if test["invalid_selector"]?.bool == true {
        #expect(throws: CodedError.self, name) { try JSONPathQuery(selector, dialect: .rfc9535) }
        continue
      }
      let results = test["results"]?.array ?? [test["result"]].compactMap(\.self)
      let found = try JSONPathQuery(selector, dialect: .rfc9535).nodes(in: test["document"] ?? .null)
      #expect(results.contains(.array(found)), name)
    }
  }

  @Test("accepts every valid query in WireMock's dialect")
  func dialect() throws {
    for test in try Self.cases() where test["invalid_selector"] == nil {
      let selector = test["selector"]?.string ?? ""
      #expect(throws: Never.self) { try JSONPathQuery(selector).nodes(in: test["document"] ?? .null) }
    }
  }
}
