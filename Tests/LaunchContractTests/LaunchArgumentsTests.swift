import LaunchContract
import Testing

@Suite("Toggles and user defaults as arguments")
struct LaunchArgumentsTests {
  private func arguments(
    toggles: [String: ContractValue] = [:], defaults: [String: ContractValue] = [:]
  ) throws -> [String] {
    try LaunchContract(
      environment: .init(id: "", name: ""), mode: "", clock: .init(kind: .system), seed: "s", toggles: toggles,
      defaults: defaults
    ).launchArguments()
  }

  @Test("are sorted pairs, toggles first, and a user default replaces a toggle with the same name")
  func order() throws {
    let words = try arguments(
      toggles: ["b": .bool(true), "a": .string("x y"), "same": .int(1)], defaults: ["same": .int(2), "d": .double(0.5)])
    #expect(
      words == ["-a", "x y", "-b", "<true/>", "-d", "<real>0.5</real>", "-same", "<integer>2</integer>"])
  }

  @Test(
    "never contain a value that would begin an option or be trimmed",
    arguments: ["-1", "--x", "", " x", "x\n", "{", "(", "[", "<", "\"", "\u{2003}x", "x\u{200B}"])
  func marked(_ text: String) throws {
    let words = try arguments(defaults: ["k": .string(text)])
    #expect(words.count == 2 && words[1].hasPrefix("<string>") && words[1].hasSuffix("</string>"))
  }

  @Test("omit toggles that cannot be expressed")
  func toggles() throws {
    let words = try arguments(
      toggles: [
        "none": .null, "inner": .array([.null]), "-dash": .bool(true), "": .bool(true),
        "object": .object(["$date": .string("no date, since toggles have none")]),
      ])
    #expect(
      words == [
        "-object", "<dict><key>$date</key><string>no date, since toggles have none</string></dict>",
      ])
  }

  @Test(
    "reject and name a user default that cannot be expressed",
    arguments: [
      (.null, "defaults.k: user defaults cannot hold null"),
      (.array([.int(1), .object(["a": .null])]), "defaults.k.1.a: user defaults cannot hold null"),
      (.object(["$date": .string("yesterday")]), "defaults.k.$date: expected an instant"),
      (.object(["$date": .int(0)]), "defaults.k.$date: expected an instant"),
      (.object(["$data": .string("no base64!")]), "defaults.k.$data: expected a Base64 string"),
      (.object(["$dictionary": .int(1)]), "defaults.k.$dictionary: expected an object"),
    ] as [(ContractValue, String)])
  func refused(_ value: ContractValue, _ problem: String) throws {
    let error = #expect(throws: ContractError.self) { try arguments(defaults: ["k": value]) }
    #expect(try #require(error).problem.hasPrefix(problem))
  }
}
