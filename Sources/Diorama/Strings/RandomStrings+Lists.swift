import LaunchContract

extension RandomStrings {
  /// A random element of a list.
  ///
  /// ```swift
  /// let plan = try controls.strings.choice("plan", from: Plan.allCases)
  /// ```
  ///
  /// Under a contract it is the one whose place is the integer in 0…count − 1 for the same key and use. The recording
  /// keeps the list's texts (where the elements are texts, numbers, or cases with such raw values, and at most 256), and
  /// a replay from another list is an error; of other elements it keeps place and count.
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - list: what there is to choose from.
  /// - Returns: the element.
  /// - Throws: ``DioramaError``, of kind `invalidRequest` for an empty list, else as ``string(_:length:alphabet:)``
  ///   does.
  public func choice<Element>(_ key: String, from list: some Collection<Element>) throws(DioramaError) -> Element {
    let elements = Array(list)
    let options = describe(elements)
    guard let draw = try draw(key, .choice(options)) else { return elements[Int.random(in: elements.indices)] }
    guard let index = options.index(of: draw.value) else { throw draw.unusable(as: "element of the list") }
    return elements[index]
  }

  /// A list in random order.
  ///
  /// ```swift
  /// let questions = try controls.strings.shuffle("questions", of: registry.questions)
  /// ```
  ///
  /// Under a contract the order is specified to the bit, unlike that of Swift's own `shuffled(using:)`, which may change
  /// with Swift's version. For i = count − 1, …, 2, 1 the elements at i and j change places, where j is an integer in
  /// 0…i; all of them take their bytes in turn from those of the key and its use. The recording keeps the order, and
  /// the list as ``choice(_:from:)`` does.
  ///
  /// - Parameters:
  ///   - key: what it is for.
  ///   - list: 0 to 100,000 elements.
  /// - Returns: the same elements.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func shuffle<Element>(_ key: String, of list: some Sequence<Element>) throws(DioramaError) -> [Element] {
    let elements = Array(list)
    let options = describe(elements)
    guard let draw = try draw(key, .shuffle(options)) else { return elements.shuffled() }
    guard let order = options.order(of: draw.value) else { throw draw.unusable(as: "order of \(elements.count)") }
    return order.map { elements[$0] }
  }
}
