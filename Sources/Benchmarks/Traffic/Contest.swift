import Foundation

/// Servers under the same load, in alternating rounds.
struct Contest {
  /// One of them.
  struct Contestant {
    let name: String
    let server: Server
  }

  let title: String
  let script: URL
  let contestants: [Contestant]

  /// Measures and prints a table.
  ///
  /// - Returns: the medians, by name.
  func measure(_ settings: Settings, connections: Int = 32) throws -> [String: Sample] {
    // Beside faster ones a peer may have no processor for a whole second.
    let load = Load(script: script, connections: connections, seconds: max(settings.seconds, 2))
    var samples: [String: [Sample]] = [:]
    for contestant in contestants { load.warm(contestant.server) }
    for _ in 0..<settings.rounds {
      for contestant in contestants {
        do {
          samples[contestant.name, default: []].append(try load.run(against: contestant.server))
        } catch {
          throw BenchError("\(title), \(contestant.name): \(error)")
        }
      }
    }
    let medians = samples.mapValues(Sample.median(of:))
    say("\n\(title), \(connections) connections")
    say("                       requests/s    p50 µs    p99 µs  CPU µs/request   memory MB  diorama's rate  CPU")
    for contestant in contestants {
      guard let sample = medians[contestant.name], let ours = medians["diorama"] else { continue }
      let name = contestant.name.padding(toLength: 20, withPad: " ", startingAt: 0)
      say(
        name
          + String(
            format: "%13.0f %9.0f %9.0f %15.2f %11.1f %14.2f× %4.2f×", sample.rate, sample.median, sample.slowest,
            sample.processor, try contestant.server.anonymousMegabytes(), ours.rate / sample.rate,
            ours.processor / sample.processor))
    }
    return medians
  }
}
