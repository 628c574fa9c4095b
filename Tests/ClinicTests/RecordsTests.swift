@testable import ClinicBackend
import Foundation
import Testing

@Suite("Schedule of a clinic")
struct ScheduleTests {
  private let now = Date(timeIntervalSince1970: 1_538_990_400)  // 2018-10-08T09:20:00Z
  private let midnight = Date(timeIntervalSince1970: 1_538_956_800)

  private func hours(_ slots: [Date]) -> [Double] {
    slots.map { ($0.timeIntervalSince(midnight)) / 3_600 }
  }

  @Test("offers half-hours from the next full hour, whatever the client's day")
  func next() {
    let expected = [10, 10.5, 11, 11.5, 12, 12.5]
    #expect(hours(Schedule.slots(onDayFrom: nil, now: now)) == expected)
    for days in [-1.0, 0, 1] {
      #expect(hours(Schedule.slots(onDayFrom: midnight + days * 86_400, now: now)) == expected)
    }
  }

  @Test("never offers past slots, and offers different slots an hour later")
  func changes() {
    for minutes in stride(from: 0.0, to: 2_880, by: 7) {
      let later = now + minutes * 60
      #expect(Schedule.slots(onDayFrom: nil, now: later).allSatisfy { $0 >= later })
    }
    #expect(Schedule.slots(onDayFrom: nil, now: now) != Schedule.slots(onDayFrom: nil, now: now + 3_600))
  }

  @Test("offers mornings of future days, and nothing on past days")
  func otherDays() {
    #expect(hours(Schedule.slots(onDayFrom: midnight + 3 * 86_400, now: now)).first == 81)
    #expect(Schedule.slots(onDayFrom: midnight - 3 * 86_400, now: now).isEmpty)
  }
}

@Suite("Releases of the backend")
struct ReleaseTests {
  /// The responses of a release.
  private func list(_ release: String) throws -> [[String: Any]] {
    let backend = try Backend("--release", release)
    let data = try Data(contentsOf: #require(URL(string: "\(backend.url)/v1/clinics")))
    let answer = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return try #require(answer["clinics"] as? [[String: Any]])
  }

  @Test("keep the clinics' IDs, and differ in a field and a name")
  func clinics() throws {
    let first = try list("1")
    let second = try list("2")
    #expect(first.map { $0["id"] as? String } == second.map { $0["id"] as? String })
    #expect(first.map { $0["postcode"] as? String } == ["SW3", "E1", "E8"])
    #expect(second.allSatisfy { $0["postcode"] == nil })
    #expect(second.map { $0["name"] as? String } == ["Chelsea", "Shoreditch", "Dalston"])
  }
}
