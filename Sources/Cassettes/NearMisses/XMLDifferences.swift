/// Where two XML documents are not the same, by path.
struct XMLDifferences {
  /// More than that do not help anyone.
  private static let most = 50

  private(set) var differences: [Difference] = []
  private var path: [String] = []

  /// Goes through both side by side, and ends where their elements part.
  init(recorded: [XMLContent.Event], actual: [XMLContent.Event], at place: String) {
    var left = 0
    var right = 0
    while left < recorded.count, right < actual.count, differences.count < Self.most {
      let here = "\(place) /" + path.joined(separator: "/")
      switch (recorded[left], actual[right]) {
      case (.start(let name, let attributes), .start(let other, let others)) where name == other:
        path.append(Self.local(name))
        compare(attributes, others, at: "\(place) /" + path.joined(separator: "/"))
      case (.end, .end): path.removeLast()
      case (.text(let text), .text(let other)):
        if text != other { differences.append(Difference(.body, here, recorded: text, actual: other)) }
      case (.text(let text), .end), (.text(let text), .start):
        differences.append(Difference(.body, here, recorded: text, actual: nil))
        right -= 1
      case (.end, .text(let text)), (.start, .text(let text)):
        differences.append(Difference(.body, here, recorded: nil, actual: text))
        left -= 1
      case (let one, let other):
        differences.append(Difference(.body, here, recorded: Self.tag(one), actual: Self.tag(other)))
        return
      }
      left += 1
      right += 1
    }
  }

  private mutating func compare(
    _ recorded: [XMLContent.Attribute], _ actual: [XMLContent.Attribute], at place: String
  ) {
    for name in Set((recorded + actual).map(\.name)).sorted() {
      let one = recorded.first { $0.name == name }?.value
      let other = actual.first { $0.name == name }?.value
      if one != other {
        differences.append(Difference(.body, "\(place)/@\(Self.local(name))", recorded: one, actual: other))
      }
    }
  }

  /// Elements of one path that lie in other name spaces are told apart.
  private static func tag(_ event: XMLContent.Event) -> String? {
    if case .start(let name, _) = event { "<\(name)>" } else { nil }
  }

  /// A name without its name space.
  static func local(_ name: String) -> String {
    name.lastIndex(of: "}").map { String(name[name.index(after: $0)...]) } ?? name
  }
}
