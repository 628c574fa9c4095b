import Foundation

@testable import Diorama

/// 2018-10-08T09:00:00Z.
let autumnMorning = Date(timeIntervalSince1970: 1_538_989_200)

extension Pace {
  /// One of each kind that can be moved.
  static let movable: [Pace] = [.frozen, .ticking, .scaled(10), .scaled(0.5), .manual]
}

extension Timeline {
  /// A timeline that began at `autumnMorning` and is told what real time it is.
  static func scripted(_ pace: Pace, _ time: ScriptedTime = ScriptedTime()) -> Timeline {
    Timeline(pace: pace, start: autumnMorning, timeZone: .gmt, real: time)
  }

  /// Registers a sleeper that puts its name down when it ends: `a`, or `a: error`.
  @discardableResult
  func note(_ name: String, _ alarm: Sleeper.Alarm, in names: Collected<String>) -> Sleeper {
    let sleeper = Sleeper(alarm)
    register(sleeper) { outcome in
      switch outcome {
      case .success: names.add(name)
      case .failure(let error): names.add("\(name): \(error)")
      }
    }
    return sleeper
  }
}
