import Testing

@testable import RunComparison

@Suite("What a value that differs looks like")
struct DifferenceKindTests {
  /// Values of several runs, with the kind that they must have.
  struct Example: Sendable, CustomTestStringConvertible {
    var values: [String]
    var kind: DifferenceKind
    var name = ""
    var testDescription: String { "\(kind): \(values.first ?? "")" }
  }

  /// Run n took from 1,700,000,000 + 10n for 5 seconds, and its process IDs are 1000n to 1000n + 50.
  private func classification(_ values: [String], name: String = "") -> Classification {
    let samples = values.indices.map { index in
      let run = index + 1
      let start = 1_700_000_000 + Double(run) * 10
      let others = values[index == 0 ? 1 : 0]
      return Sample(
        token: Token.pair(values[index], others).0,
        facts: .init(run: run, time: start...start + 5, processes: run * 1000...run * 1000 + 50))
    }
    return Classification(samples, name: name)
  }

  private static let examples = [
    Example(values: ["at 2018-10-08T09:00:00.25Z", "at 2018-10-08T09:00:07Z"], kind: .instant),
    Example(values: ["at 2018-10-08 09:00:00.123", "at 2018-10-08 09:01:07.001"], kind: .instant),
    Example(values: ["Mon, 08 Oct 2018 09:00:00 GMT", "Mon, 08 Oct 2018 09:00:01 GMT"], kind: .instant),
    Example(values: ["t=1700000012", "t=1700000021"], kind: .instant),
    Example(values: ["t=1700000012345", "t=1700000021500"], kind: .instant),
    // As long as a time, but not that of the runs.
    Example(values: ["n=8123456789", "n=9182736455"], kind: .random),
    Example(
      values: ["id 3b241101-e2bb-4255-8caf-4136c566a962", "id 9c5b94b1-35ad-49bb-b118-8e8fc24abf80"], kind: .uuid),
    Example(values: ["{3b241101-e2bb-4255-8caf-4136c566a962}", "{9c5b94b1-35ad-49bb-b118-8e8fc24abf80}"], kind: .uuid),
    Example(values: ["order-17", "order-18", "order-20"], kind: .counter),
    Example(values: ["9", "10", "11"], kind: .counter),
    // The same twice is no counter.
    Example(values: ["3", "5", "3"], kind: .unknown),
    Example(values: ["x 0.8877583805", "x 0.188040059"], kind: .random),
    Example(values: ["s 4fzyo82m9xk1", "s 0qk3mvt7ala2"], kind: .random),
    Example(values: ["wrote /tmp/tmp8m4qrfzo/a.txt", "wrote /tmp/tmpizxpax_k/a.txt"], kind: .temporaryPath),
    Example(values: ["wrote /home/me/tmp8m4qrfzo", "wrote /home/me/tmpizxpax99"], kind: .random),
    Example(values: ["http://127.0.0.1:40123/x", "http://127.0.0.1:51234/x"], kind: .port),
    Example(values: ["listening on port 40123", "listening on port 51234"], kind: .port),
    Example(values: ["40123", "51234"], kind: .port, name: "port"),
    Example(values: ["worker 1007", "worker 2033"], kind: .process),
    Example(values: ["pid=77123", "pid=78001"], kind: .process),
    Example(values: ["passed in 0.25s", "passed in 1.07s"], kind: .duration),
    Example(values: ["took 25 ms", "took 107 ms"], kind: .duration),
    Example(values: ["0.25", "0.31"], kind: .duration, name: "elapsed"),
    // Longer than the run.
    Example(values: ["expires in 3600 s", "expires in 7200 s"], kind: .unknown),
    Example(values: ["<a object at 0x7f2be41c9d30>", "<a object at 0x7fa1c0b81d30>"], kind: .address),
    Example(values: ["red", "blue"], kind: .unknown),
  ]

  @Test("follows from the values", arguments: examples)
  func kinds(_ example: Example) {
    let found = classification(example.values, name: example.name)
    #expect(found.kind == example.kind, "\(found)")
    #expect(found.reason.isEmpty == (example.kind == .unknown))
  }

  @Test("needs all values to fit")
  func all() {
    #expect(classification(["at 2018-10-08T09:00:00Z", "at 2018-10-08T09:00:07Z", "at noon"]).kind == .unknown)
  }

  @Test("has something to do for every known kind, and a way to leave it out")
  func levers() {
    for kind in DifferenceKind.allCases {
      #expect((kind.look == nil) == [.extra, .unknown].contains(kind))
      #expect(kind.levers(at: .other).isEmpty == [.extra, .unknown].contains(kind))
      #expect(kind.levers(at: .matched(rule: "{}")).last?.contains("diorama.json: {}") == true)
      #expect(kind.levers(at: .header("X-A")).last?.contains("--ignore-header X-A") == true)
      #expect(kind.levers(at: .output).last?.contains("--ignore-output") == true)
    }
  }

  @Test("names what isolation makes equal in each run, except for a test, which cannot be isolated")
  func isolation() {
    for kind in DifferenceKind.allCases {
      let lever = kind.levers(at: .other).last { $0.contains("--isolate") }
      #expect((lever != nil) == [.instant, .uuid, .random, .hashOrder, .address, .process].contains(kind))
      #expect(lever?.contains("--random") == (lever == nil ? nil : ![.instant, .process].contains(kind)))
      let test = kind.levers(at: .header("X-A"), in: .test) + kind.levers(at: .output, in: .test)
      #expect(!test.contains { $0.contains("--") }, "\(test)")
    }
  }

  @Test(
    "does not suggest what is already in force, but says what it means",
    arguments: [
      ("address", "namespaces", "frozen", true, nil, "threads may be the cause"),
      ("hashOrder", "seccomp", "frozen", true, nil, "threads may be the cause"),
      ("uuid", "namespaces", "frozen", false, "record and verify with --random:", nil),
      ("random", "proxy", "frozen", true, "--random, and --isolate=namespaces or --isolate=seccomp", nil),
      ("instant", "namespaces", "ticking", false, "--clock frozen", nil),
      ("instant", "seccomp", "frozen", false, nil, "a frozen clock"),
      ("instant", "proxy", "frozen", false, "which a proxy cannot: --isolate=namespaces or --isolate=seccomp", nil),
      ("process", "seccomp", "frozen", false, "--isolate=namespaces", nil),
    ] as [(String, String, String, Bool, String?, String?)])
  func inForce(
    name: String, isolation: String, clock: String, isRandom: Bool, option: String?, doubt: String?
  ) throws {
    let kind = try #require(DifferenceKind(rawValue: name))
    let interface = DifferenceKind.Interface.command(.init(isolation: isolation, clock: clock, isRandom: isRandom))
    let lever = kind.levers(at: .other, in: interface).last { $0.contains("without a change to the program") }
    #expect((lever == nil) == (option == nil), "\(lever ?? "")")
    if let option { #expect(lever?.contains(option) == true, "\(lever ?? "")") }
    #expect((kind.doubt(in: interface) == nil) == (doubt == nil))
    if let doubt { #expect(kind.doubt(in: interface)?.contains(doubt) == true) }
  }

  @Test("a set, a dictionary or a query in another order is an order")
  func permutations() throws {
    for (left, right) in [
      (#"["a", "b", "c"]"#, #"["c", "a", "b"]"#), (#"{"a": 1, "b": 2}"#, #"{"b": 2, "a": 1}"#),
      ("{'x', 'y'}", "{'y', 'x'}"),
    ] {
      let found = try #require(TextDifference.first(Array(left.utf8), Array(right.utf8)))
      #expect(found.permutation == .parts, "\(left)")
    }
    let changed = try #require(TextDifference.first(Array("[1, 2]".utf8), Array("[2, 3]".utf8)))
    #expect(changed.permutation == nil)
    #expect(changed.path == "$[0]")
  }

  @Test("JSON is compared by value, with the first byte that differs")
  func json() throws {
    let found = try #require(
      TextDifference.first(Array(#"{"a": 1, "b c": {"d": 2}}"#.utf8), Array(#"{"a": 1, "b c": {"d": 3}}"#.utf8)))
    #expect(found.path == "$['b c'].d")
    #expect(found.name == "d")
    #expect(found.byte == 22)
    let line = try #require(TextDifference.first(Array("x\n{\"n\": 1}\n".utf8), Array("x\n{\"n\": 2}\n".utf8)))
    #expect(line.path == "line 2, $.n")
    let missing = try #require(TextDifference.first(Array("a\n".utf8), Array("a\nb\n".utf8)))
    #expect((missing.left, missing.right, missing.path) == ("", "b", "line 2"))
  }
}
