import Testing

@testable import DioramaTesting

@Suite("Test names")
struct NamingTests {
  private func identity(
    _ suites: [String], _ function: String, case caseName: String? = nil, file: String = "/p/Tests/A/BookingTests.swift"
  ) -> TestIdentity {
    TestIdentity(module: "A", suites: suites, function: function, caseName: caseName, file: file)
  }

  @Test("determine the cassette's path beside the test's file")
  func place() throws {
    #expect(try identity(["S", "Inner"], "books()").cassette(named: nil) == "/p/Tests/A/Cassettes/S/Inner/books")
    #expect(try identity([], "books()").cassette(named: nil) == "/p/Tests/A/Cassettes/BookingTests/books")
    #expect(
      try identity(["S"], "books(at:_:)", case: "Chelsea,2").cassette(named: nil)
        == "/p/Tests/A/Cassettes/S/books-at/Chelsea,2")
    #expect(try identity(["S"], "`books a slot`()").cassette(named: nil) == "/p/Tests/A/Cassettes/S/books-a-slot")
  }

  @Test("do not apply if the test names a cassette")
  func named() throws {
    var identity = identity(["S"], "books(_:)", case: "x")
    #expect(try identity.cassette(named: "Tapes/b.har") == "/p/Tests/A/Tapes/b")
    #expect(try identity.cassette(named: "/t/b") == "/t/b")
    identity.splitsCases = true
    #expect(try identity.cassette(named: "Tapes/b") == "/p/Tests/A/Tapes/b/x")
    #expect(throws: DioramaTestingError.self) { try identity.cassette(named: "") }
  }

  @Test("provide the filter for running the test again")
  func filter() {
    #expect(identity(["S", "Inner"], "books(at:)").filter == "A.S/Inner/books")
  }

  @Test("cause an error instead of a shared cassette if two tests have the same")
  func shared() throws {
    var first = identity(["Overloads"], "books(_:)", case: "1")
    first.line = 10
    var second = first
    second.line = 20
    _ = try first.cassette(named: nil)
    _ = try first.cassette(named: nil)
    let error = #expect(throws: DioramaTestingError.self) { try second.cassette(named: nil) }
    #expect(error?.description.contains("two tests would share") == true)
  }

  @Test("become unique file names")
  func fileNames() {
    #expect(FileName.make("books a slot") == "books-a-slot")
    #expect(FileName.make("größe_1.5") == "größe_1.5")
    let made = ["a/b", "a:b", "a-b", "", ".", "..", "/", "../x", "-5", "5", "a\nb"].map(FileName.make)
    #expect(Set(made).count == made.count)
    #expect(made.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("/") })
    let long = String(repeating: "ä", count: 300)
    #expect(FileName.make(long).utf8.count < 100)
    #expect(FileName.make(long) != FileName.make(long + "x"))
  }

  struct Clinic: Codable, Sendable {
    var name: String
    var beds: Int
  }

  @Test(
    "distinguish the cases of a test", arguments: [Clinic(name: "Chelsea", beds: 1), Clinic(name: "Euston", beds: 2)])
  func cases(_ clinic: Clinic) throws {
    let current = try #require(Test.Case.current)
    let name = try #require(try CaseName.make(current))
    #expect(name.contains(clinic.name))
  }

  @Test("of two arguments include both", arguments: ["a/b", "c"], [1, -2])
  func pairs(_ text: String, _ number: Int) throws {
    let name = try CaseName.make(try #require(Test.Case.current))
    #expect(name == FileName.make(text) + "," + FileName.make("\(number)"))
  }

  @Test("include no case without a case")
  func noCase() throws {
    #expect(try CaseName.make(try #require(Test.Case.current)) == nil)
  }

  struct Opaque: Sendable {
    var number: Int
  }

  @Test(
    "cause an error for arguments without a stable encoding",
    arguments: [Opaque(number: 1), Opaque(number: 2)])
  func opaque(_ value: Opaque) throws {
    let error = #expect(throws: DioramaTestingError.self) {
      try CaseName.make(try #require(Test.Case.current))
    }
    #expect(error?.description.contains("TestEnvironment.provision(case:") == true)
  }
}
