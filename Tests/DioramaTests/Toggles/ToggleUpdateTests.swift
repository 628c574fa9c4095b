import Basics
import Diorama
import LaunchContract
import Synchronization
import Testing
import TestSupport

@Suite("Toggle updates")
struct ToggleUpdateTests {
  @Test("apply to every later reading, in every copy, for every type")
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

  @Test("are atomic: after one new value, no older value is read")
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

  @Test("do not affect another environment with the same declarations")
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

  @Test("are correct for any number of declarations")
  func many() {
    let toggles = TogglesFixture(
      Dictionary(uniqueKeysWithValues: (0..<3_000).map { ("t\($0)", JSON.int($0)) })
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

@Suite("Changes of a toggle", .timeLimit(.minutes(5)))
struct ToggleChangesTests {
  @Test("gives each new value, and skips equal ones")
  func changes() async {
    let fixture = TogglesFixture(["theme": .string("light")])
    var changes = fixture.toggles.changes(of: .theme).makeAsyncIterator()
    fixture.toggles.update(["theme": .string("dark")])
    #expect(await changes.next() == .dark)
    fixture.toggles.update(["theme": .string("dark"), "other": .int(1)])
    fixture.toggles.update([:])
    #expect(await changes.next() == .light)
  }

  @Test("gives the last of several pending values")
  func last() async {
    let fixture = TogglesFixture()
    let counter = Toggle("counter", default: 0)
    var changes = fixture.toggles.changes(of: counter).makeAsyncIterator()
    for number in 1...100 { fixture.toggles.update(["counter": .int(number)]) }
    #expect(await changes.next() == 100)
  }

  @Test("ends with its controls, and at once without a contract")
  func end() async throws {
    var fixture: TogglesFixture? = TogglesFixture()
    let changes = try #require(fixture).toggles.changes(of: .skipOnboarding)
    fixture = nil
    for await value in changes { Issue.record("\(value)") }
    let live = try AppControls.launch(arguments: ["app"], environment: [:]) { _ in }
    for await value in live.toggles.changes(of: .skipOnboarding) { Issue.record("\(value)") }
  }

  @Test("ends with its task and does not affect other loops")
  func cancel() async {
    let fixture = TogglesFixture()
    var kept = fixture.toggles.changes(of: .skipOnboarding).makeAsyncIterator()
    let task = Task { [toggles = fixture.toggles] in
      for await value in toggles.changes(of: .skipOnboarding) { Issue.record("\(value)") }
    }
    task.cancel()
    await task.value
    fixture.toggles.update(["skip-onboarding": .bool(true)])
    #expect(await kept.next() == true)
  }

  @Test("gives the latest value last during simultaneous updates")
  func concurrent() async {
    let fixture = TogglesFixture()
    let counter = Toggle("counter", default: 0)
    for _ in 0..<200 {
      let changes = fixture.toggles.changes(of: counter)
      await withTaskGroup { group in
        for number in 1...4 { group.addTask { fixture.toggles.update(["counter": .int(number)]) } }
      }
      fixture.toggles.update(["counter": .int(-1)])
      var last = 0
      for await value in changes {
        last = value
        if value == -1 { break }
      }
      #expect(last == -1)
      fixture.toggles.update([:])
    }
  }
}
