import Foundation

/// Runs `body` with 0, 1, … on as many threads, let loose together.
///
/// - Returns: what each returned.
func simultaneously<Value: Sendable>(
  _ count: Int, _ body: @escaping @Sendable (Int) -> Value
) -> [Value] {
  let race = Race<Value>()
  for index in 0..<count {
    let thread = Thread {
      race.waitForStart(of: count)
      race.finish(index, body(index))
    }
    // Some stores bring C libraries that want more than the half megabyte of a macOS thread.
    thread.stackSize = 4 << 20
    thread.start()
  }
  return race.waitForAll(count)
}

private final class Race<Value: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var ready = 0
  private var values: [Int: Value] = [:]

  func waitForStart(of count: Int) {
    condition.lock()
    ready += 1
    condition.broadcast()
    while ready < count { condition.wait() }
    condition.unlock()
  }

  func finish(_ index: Int, _ value: Value) {
    condition.lock()
    values[index] = value
    condition.broadcast()
    condition.unlock()
  }

  func waitForAll(_ count: Int) -> [Value] {
    condition.lock()
    defer { condition.unlock() }
    while values.count < count { condition.wait() }
    return values.sorted { $0.key < $1.key }.map(\.value)
  }
}
