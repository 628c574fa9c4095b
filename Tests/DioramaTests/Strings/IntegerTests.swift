import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Random integers and UUIDs of an app")
struct IntegerTests {
  @Test("are of the type that the app asks for")
  func types() throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      for _ in 0..<20 {
        let byte: UInt8 = try strings.integer("byte", in: 250...255)
        #expect(byte >= 250)
        let all: Int64 = try strings.integer("all", in: .min ... .max)
        _ = all
        #expect(try strings.integer("wide", in: UInt64(1)...UInt64(Int64.max)) > 0)
        #expect(try strings.integer("one", in: Int64.min...Int64.min) == .min)
        #expect(try strings.integer("one", in: Int64.max...Int64.max) == .max)
      }
    }
  }

  @Test("are refused beyond 64 bits with a sign, live as well")
  func beyond() throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      let error = #expect(throws: DioramaError.self) { try strings.integer("k", in: 0...UInt64.max) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  @Test("are an error in replay when the store was changed by hand")
  func changed() throws {
    let strings = try replay([
      "age": [.init(value: "100", parameters: .integer(low: 18, high: 99))],
      "id": [.init(value: "33b5dc9e", parameters: .uuid(version4: false))],
    ]).strings
    let error = #expect(throws: DioramaError.self) { try strings.integer("age", in: 18...99) }
    let words = #"'100' recorded for the key "age", ordinal 0, is no integer in 18…99"#
    #expect(error?.description.contains(words) == true)
    #expect(throws: DioramaError.self) { try strings.uuid("id") }
  }

  @Test("of version 4 are marked so on request, and always live")
  func version4() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(try strings.uuid("user", version4: true) == UUID(uuidString: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82"))
    let live = try RandomStrings.live.uuid("user").uuidString
    #expect(live[live.index(live.startIndex, offsetBy: 14)] == "4")
  }
}
