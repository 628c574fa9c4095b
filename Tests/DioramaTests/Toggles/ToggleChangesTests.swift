import Diorama
import LaunchContract
import Testing

@Suite("Following a toggle", .timeLimit(.minutes(5)))
struct ToggleChangesTests {
  @Test("gives each new value, and none that is like the one before")
  func changes() async {
    let fixture = TogglesFixture(["theme": .string("light")])
    var changes = fixture.toggles.changes(of: .theme).makeAsyncIterator()
    fixture.toggles.update(["theme": .string("dark")])
    #expect(await changes.next() == .dark)
    fixture.toggles.update(["theme": .string("dark"), "other": .int(1)])
    fixture.toggles.update([:])
    #expect(await changes.next() == .light)
  }

  @Test("gives the last of several that nobody has taken")
  func last() async {
    let fixture = TogglesFixture()
    let counter = Toggle("counter", default: 0)
    var changes = fixture.toggles.changes(of: counter).makeAsyncIterator()
    for number in 1...100 { fixture.toggles.update(["counter": .int(number)]) }
    #expect(await changes.next() == 100)
  }

  @Test("ends with its controls, and at once where nothing can change")
  func end() async throws {
    var fixture: TogglesFixture? = TogglesFixture()
    let changes = try #require(fixture).toggles.changes(of: .skipOnboarding)
    fixture = nil
    for await value in changes { Issue.record("\(value)") }
    let live = try AppControls.launch(arguments: ["app"], environment: [:]) { _ in }
    for await value in live.toggles.changes(of: .skipOnboarding) { Issue.record("\(value)") }
  }

  @Test("ends with its task, and leaves others alone")
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

  @Test("tells the latest value last, whoever updates at the same time")
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
