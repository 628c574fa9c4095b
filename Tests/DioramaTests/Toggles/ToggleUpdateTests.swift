import Diorama
import LaunchContract
import Synchronization
import TestSupport
import Testing

@Suite("Toggles that change while the app runs")
struct ToggleUpdateTests {
  @Test("are the new ones in every later reading, through every copy, of every type")
  func update() {
    let fixture = TogglesFixture(["skip-onboarding": .bool(true), "theme": .string("dark"), "place": .object([:])])
    let copy = fixture.toggles
    #expect(copy[.skipOnboarding])
    #expect(copy[.theme] == .dark)
    fixture.toggles.update(["place": .object(["latitude": .int(1), "name": .string("here")])])
    #expect(!copy[.skipOnboarding])
    #expect(copy[.theme] == .light)
    #expect(copy[.place] == Place(latitude: 1, name: "here"))
    fixture.toggles.update(["theme": .string("dark")])
    #expect(copy[.theme] == .dark)
    #expect(copy[.place] == .london)
  }

  @Test("change all at once: who has read one new value never reads an older one after it")
  func atOnce() async throws {
    let first = Toggle("first", default: 0)
    let second = Toggle("second", default: [0])
    let toggles = TogglesFixture().toggles
    let flag = Flag()
    @Sendable func read() throws {
      while !flag.isOver.load(ordering: .acquiring) {
        let early = toggles[first]
        let late = toggles[second]
        try #require(late.count == 1 && late[0] >= early, "\(early), then \(late)")
      }
    }
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 { group.addTask { try await onThread { try read() } } }
      group.addTask {
        try await onThread {
          for round in 1...2_000 { toggles.update(["first": .int(round), "second": .array([.int(round)])]) }
          flag.isOver.store(true, ordering: .releasing)
        }
      }
      try await group.waitForAll()
    }
    #expect(toggles[first] == 2_000)
    #expect(toggles[second] == [2_000])
  }

  @Test("of two worlds stay apart, though their declarations are the same")
  func apart() async throws {
    try await withThrowingTaskGroup { group in
      for number in 0..<4 {
        group.addTask {
          try await onThread {
            for round in 0..<500 {
              let toggles = TogglesFixture(["pages": .int(number), "title": .string("\(number)")]).toggles
              for _ in 0..<20 {
                try #require(toggles[.pages] == number && toggles[.title] == "\(number)")
              }
              toggles.update(["pages": .int(round)])
              try #require(toggles[.pages] == round && toggles[.title] == "untitled")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("are right for any number of declarations")
  func many() {
    let toggles = TogglesFixture(
      Dictionary(uniqueKeysWithValues: (0..<3_000).map { ("t\($0)", ContractValue.int($0)) })
    ).toggles
    let declarations = (0..<3_000).map { Toggle("t\($0)", default: -1) }
    for _ in 0..<2 {
      for (number, declaration) in declarations.enumerated() {
        let value = toggles[declaration]
        if value != number { Issue.record("\(number) is \(value)") }
      }
    }
  }
}

private final class Flag: Sendable {
  let isOver = Atomic(false)
}

extension Toggle<Int> {
  fileprivate static let pages = Toggle("pages", default: 0)
}

extension Toggle<String> {
  fileprivate static let title = Toggle("title", default: "untitled")
}
