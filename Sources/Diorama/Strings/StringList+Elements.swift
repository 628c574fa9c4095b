import LaunchContract

extension StringList {
  /// What the store is to know of an app's list: its texts, where each element has one that stands for it (texts,
  /// numbers, cases with such a raw value) and they are not too many; else how many there are.
  init(describing elements: [some Any]) {
    self = .count(elements.count)
    guard elements.count <= Self.mostOptions else { return }
    var texts: [String] = []
    for element in elements {
      guard let text = Self.text(of: element) else { return }
      texts.append(text)
    }
    self = .options(texts)
  }

  private static func text(of element: Any) -> String? {
    if let text = element as? any LosslessStringConvertible { return text.description }
    let rawValue: Any? = (element as? any RawRepresentable)?.rawValue
    return (rawValue as? any LosslessStringConvertible)?.description
  }

  /// What the store keeps of a choice.
  func text(at index: Int) -> String {
    switch self {
    case .options(let options): options[index]
    case .count: String(index)
    }
  }

  /// The place that the store's text of a choice means; nil where it means none.
  func index(of text: String) -> Int? {
    switch self {
    case .options(let options): options.firstIndex(of: text)
    case .count(let count): Int(text).flatMap { 0..<count ~= $0 ? $0 : nil }
    }
  }

  /// The places that the store's text of a shuffle means; nil unless they are each place once.
  func order(of text: String) -> [Int]? {
    var isFree = [Bool](repeating: true, count: count)
    var places: [Int] = []
    for part in text.split(separator: ",") {
      guard let place = Int(part), isFree.indices ~= place, isFree[place] else { return nil }
      isFree[place] = false
      places.append(place)
    }
    return places.count == count ? places : nil
  }
}
