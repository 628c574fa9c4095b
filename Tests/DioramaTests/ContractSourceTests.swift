import Diorama
import LaunchContract
import Testing

@Suite("Finding a launch contract")
struct ContractSourceTests {
  @Test("finds none when neither argument nor variable is there, or the variable is empty")
  func none() throws {
    #expect(try LaunchContract.decode(argumentsOf: ["app", "--x"], environment: ["HOME": "/"]) == nil)
    #expect(try LaunchContract.decode(argumentsOf: [], environment: ["DIORAMA_CONTRACT": ""]) == nil)
  }

  @Test("finds it in the variable")
  func variable() throws {
    let found = try LaunchContract.decode(
      argumentsOf: ["app"], environment: ["DIORAMA_CONTRACT": #"{"version":1,"mode":"a"}"#])
    #expect(found?.mode == "a")
  }

  @Test("prefers the argument to the variable, and the last argument to the first")
  func precedence() throws {
    let contract = try LaunchContract.decode(
      argumentsOf: [
        "app", "-DioramaContract", #"{"version":1,"mode":"a"}"#, "-DioramaContract", #"{"version":1,"mode":"b"}"#,
      ],
      environment: ["DIORAMA_CONTRACT": "not even JSON"])
    #expect(contract?.mode == "b")
  }

  @Test("says that a value must follow the argument")
  func argumentWithoutValue() {
    #expect(throws: ContractError("JSON or file:/absolute/path must follow", source: "the argument -DioramaContract")) {
      try LaunchContract.decode(argumentsOf: ["app", "-DioramaContract"], environment: [:])
    }
  }
}
