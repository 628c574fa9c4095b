import Foundation
import Testing

@testable import ClinicBackend

@Suite("The clinic's schedule")
struct ScheduleTests {
  private let now = Date(timeIntervalSince1970: 1_538_990_400)  // 2018-10-08T09:20:00Z
  private let midnight = Date(timeIntervalSince1970: 1_538_956_800)

  private func hours(_ slots: [Date]) -> [Double] {
    slots.map { ($0.timeIntervalSince(midnight)) / 3_600 }
  }

  @Test("offers the half-hours from the next full hour on, whichever day it is for the client")
  func next() {
    let expected = [10, 10.5, 11, 11.5, 12, 12.5]
    #expect(hours(Schedule.slots(onDayFrom: nil, now: now)) == expected)
    for days in [-1.0, 0, 1] {
      #expect(hours(Schedule.slots(onDayFrom: midnight + days * 86_400, now: now)) == expected)
    }
  }

  @Test("never offers what is past, and other slots an hour later")
  func changes() {
    for minutes in stride(from: 0.0, to: 2_880, by: 7) {
      let later = now + minutes * 60
      #expect(Schedule.slots(onDayFrom: nil, now: later).allSatisfy { $0 >= later })
    }
    #expect(Schedule.slots(onDayFrom: nil, now: now) != Schedule.slots(onDayFrom: nil, now: now + 3_600))
  }

  @Test("offers mornings of days to come, and nothing on days that are over")
  func otherDays() {
    #expect(hours(Schedule.slots(onDayFrom: midnight + 3 * 86_400, now: now)).first == 81)
    #expect(Schedule.slots(onDayFrom: midnight - 3 * 86_400, now: now).isEmpty)
  }
}
