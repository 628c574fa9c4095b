package import Basics
import Cassettes
import CYAML
import LaunchContract

/// Reads a YAML file with a single document, based on libyaml's events.
///
/// Files cannot do more than define values: tags other than `!binary` are ignored, and the expansion of aliases is
/// limited.
package struct YAMLReader {
  /// The same limit as for JSON.
  private static let maximumDepth = JSON.maximumDepth

  private struct Frame {
    let isMapping: Bool
    let anchor: String?
    let place: (line: Int, column: Int)
    var children: [YAMLNode] = []
    var weight = 1
  }

  private let name: String
  private let advice: String
  private let bytes: UnsafeRawBufferPointer
  private var open: [Frame] = []
  private var anchors: [String: (node: YAMLNode, weight: Int)] = [:]
  private var root: YAMLNode?
  /// The remaining budget for alias expansion, which protects against small files with a huge expansion (CWE-776).
  private var allowance: Int

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - bytes: the text.
  ///   - name: the file's name, for errors.
  ///   - advice: what to do about an error.
  /// - Returns: the root of the document.
  /// - Throws: ``CodedError`` with line and column if the file is not valid YAML or has more than one document.
  package static func parse(
    _ bytes: [UInt8], name: String, advice: String = "fix the file, or re-record it"
  ) throws(CodedError) -> YAMLNode {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      var reader = YAMLReader(name: name, advice: advice, bytes: UnsafeRawBufferPointer(buffer))
      return try reader.read()
    }
  }

  private init(name: String, advice: String, bytes: UnsafeRawBufferPointer) {
    self.name = name
    self.advice = advice
    self.bytes = bytes
    allowance = bytes.count * 64 + (16 << 20)
  }

  private mutating func read() throws(CodedError) -> YAMLNode {
    var parser = yaml_parser_t()
    // "Returns 1 if the function succeeded, 0 on error": the only possible error is a lack of memory.
    guard yaml_parser_initialize(&parser) == 1 else {
      throw CodedError(name: name, problem: "there is no memory to read it", advice: "end other programs")
    }
    defer { yaml_parser_delete(&parser) }
    yaml_parser_set_input_string(&parser, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    while true {
      var event = yaml_event_t()
      guard yaml_parser_parse(&parser, &event) == 1 else { throw failure(parser) }
      // "An application must free any buffers associated with the produced event object".
      defer { yaml_event_delete(&event) }
      if event.type == YAML_STREAM_END_EVENT { break }
      try take(event)
    }
    guard let root else {
      throw CodedError(name: name, problem: "the file is empty", advice: "name another file")
    }
    return root
  }

  private mutating func take(_ event: yaml_event_t) throws(CodedError) {
    let place = (line: Int(event.start_mark.line) + 1, column: Int(event.start_mark.column) + 1)
    switch event.type {
    case YAML_DOCUMENT_START_EVENT:
      guard root == nil else { throw failure("a second document begins", place) }
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let length = Int(scalar.length)
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: length), as: UTF8.self)
      let tag = Self.text(scalar.tag)
      var node = YAMLNode(content: .text(text), place: place)
      if tag == "!binary" || tag == "tag:yaml.org,2002:binary" {
        guard let decoded = Base64.decode(text) else { throw failure("a binary value is not Base64", place) }
        node.content = .bytes(decoded)
      } else if tag == "tag:yaml.org,2002:null"
        || tag == nil && scalar.style == YAML_PLAIN_SCALAR_STYLE && ["", "~", "null", "Null", "NULL"].contains(text)
      {
        node.content = .null
      } else {
        node.isPlain = tag == nil && scalar.style == YAML_PLAIN_SCALAR_STYLE
      }
      try add(node, weight: 16 + length, anchor: Self.text(scalar.anchor))
    case YAML_ALIAS_EVENT:
      let anchor = Self.text(event.data.alias.anchor) ?? ""
      guard let (node, weight) = anchors[anchor] else {
        throw failure("the alias *\(anchor.shortened(40)) names nothing before it", place)
      }
      allowance -= weight
      guard allowance >= 0 else { throw failure("its aliases repeat more than a cassette can have", place) }
      try add(node, weight: weight, anchor: nil)
    case YAML_SEQUENCE_START_EVENT:
      try push(Frame(isMapping: false, anchor: Self.text(event.data.sequence_start.anchor), place: place))
    case YAML_MAPPING_START_EVENT:
      try push(Frame(isMapping: true, anchor: Self.text(event.data.mapping_start.anchor), place: place))
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
      try pop()
    default: break
    }
  }

  private mutating func push(_ frame: Frame) throws(CodedError) {
    guard open.count < Self.maximumDepth else {
      throw failure("values lie more than \(Self.maximumDepth) deep in each other", frame.place)
    }
    open.append(frame)
  }

  private mutating func pop() throws(CodedError) {
    guard let frame = open.popLast() else { return }
    guard frame.isMapping else {
      return try add(
        YAMLNode(content: .sequence(frame.children), place: frame.place), weight: frame.weight, anchor: frame.anchor)
    }
    var members: [(key: String, value: YAMLNode)] = []
    members.reserveCapacity(frame.children.count / 2)
    var index = 0
    while index + 1 < frame.children.count {
      let key = frame.children[index]
      guard let text = key.isNull ? "" : key.text else {
        throw failure("a mapping has a key that is no text", key.place ?? frame.place)
      }
      members.append((text, frame.children[index + 1]))
      index += 2
    }
    try add(YAMLNode(content: .mapping(members), place: frame.place), weight: frame.weight, anchor: frame.anchor)
  }

  private mutating func add(_ node: YAMLNode, weight: Int, anchor: String?) throws(CodedError) {
    if let anchor { anchors[anchor] = (node, weight) }
    guard !open.isEmpty else {
      root = node
      return
    }
    open[open.count - 1].children.append(node)
    open[open.count - 1].weight += weight
  }

  private static func text(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
    pointer.map { String(cString: $0) }
  }

  private func failure(_ problem: String, _ place: (line: Int, column: Int)) -> CodedError {
    CodedError(name: name, line: place.line, column: place.column, problem: problem, advice: advice)
  }

  /// The error that libyaml reports, with its position.
  private func failure(_ parser: yaml_parser_t) -> CodedError {
    let problem = parser.problem.map { String(cString: $0) } ?? "it is no YAML"
    guard parser.error != YAML_READER_ERROR else {
      // For bytes that cannot be decoded, libyaml reports only the offset.
      return CodedError(
        "\(problem) (it is no text, or not in UTF-8); \(advice)", at: Int(parser.problem_offset), of: bytes, name: name)
    }
    let mark = parser.problem_mark
    return failure(problem, (Int(mark.line) + 1, Int(mark.column) + 1))
  }
}
