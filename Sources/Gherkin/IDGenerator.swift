/// The ids of nodes, pickles and other messages: consecutive numbers, unique where one generator is used.
package struct IDGenerator: Sendable {
  private var number: Int

  /// - Parameter number: the first id.
  package init(from number: Int = 0) {
    self.number = number
  }

  /// A new id.
  package mutating func next() -> String {
    defer { number += 1 }
    return String(number)
  }
}
