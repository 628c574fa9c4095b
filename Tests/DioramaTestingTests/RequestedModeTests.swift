import Testing

@testable import DioramaTesting

@Suite("DIORAMA_MODE")
struct RequestedModeTests {
  private func mode(
    _ code: TestEnvironment.Mode, _ variable: String?, hasUpstreams: Bool = true
  ) throws(DioramaTestingError) -> TestEnvironment.Mode {
    try RequestedMode.resolve(
      code, hasUpstreams: hasUpstreams, variables: variable.map { ["DIORAMA_MODE": $0] } ?? [:])
  }

  @Test("overrides the code", arguments: TestEnvironment.Mode.allCases)
  func outranks(_ mode: TestEnvironment.Mode) throws {
    #expect(try self.mode(.replay, mode.rawValue) == mode)
    #expect(try self.mode(.replay, nil) == .replay)
    #expect(try self.mode(.once, "") == .once)
  }

  @Test("does not change the mode mock")
  func mock() throws {
    #expect(try mode(.mock, "record", hasUpstreams: false) == .mock)
    #expect(try mode(.mock, "record") == .record)
  }

  @Test("causes an error for an unknown mode")
  func wrong() {
    let error = #expect(throws: DioramaTestingError.self) { try mode(.once, "recrd") }
    #expect(
      error?.description == "DIORAMA_MODE: 'recrd' is not valid; did you mean 'record'? "
        + "Choose from once, replay, record, extend, proxy or mock")
  }
}
