/// First in, first out, each at constant cost. For plain values: what has gone out is kept for a while.
struct Queue<Element> {
  private var elements: [Element]
  /// Those before it have gone out.
  private var head = 0

  init(_ elements: [Element] = []) { self.elements = elements }

  var count: Int { elements.count - head }
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func next() -> Element? {
    guard let first else { return nil }
    head += 1
    if head > 1024, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Puts these before all others.
  mutating func putBack(_ elements: [Element]) {
    self.elements.replaceSubrange(..<head, with: elements)
    head = 0
  }

  mutating func removeAll(where isGone: (Element) -> Bool) {
    elements.removeFirst(head)
    head = 0
    elements.removeAll(where: isGone)
  }
}
