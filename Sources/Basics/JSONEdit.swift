/// Changes a JSON text that people write, and leaves all other bytes as they are.
package enum JSONEdit {
  /// Appends elements to an array.
  ///
  /// ```swift
  /// try JSONEdit.appending([.string("b")], at: ["list"], to: Array(#"{"list": ["a"]}"#.utf8))  // {"list": ["a", "b"]}
  /// ```
  ///
  /// - Parameters:
  ///   - elements: the elements; each is written on one line.
  ///   - path: the names of the members that lead to the array. Missing ones are added.
  ///   - text: the text, an object.
  /// - Returns: the new text. It is indented like the old one.
  /// - Throws: ``CodedError`` if the text is not valid JSON, or if something on the path is not an object or array.
  package static func appending(
    _ elements: [JSON], at path: [String], to text: [UInt8]
  ) throws(CodedError) -> [UInt8] {
    let (place, insertion) = try text.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      var reader = JSONReader(UnsafeRawBufferPointer(buffer))
      var rest = path[...]
      var container = try Container(object: &reader, seeking: rest.first)
      while container.isFound, let name = rest.popFirst() {
        do throws(CodedError) {
          container =
            try rest.isEmpty ? Container(array: &reader) : Container(object: &reader, seeking: rest.first)
        } catch {
          throw CodedError(
            .broken, "\(path.prefix(path.count - rest.count).joined(separator: ".")): \(error.problem)", at: name)
        }
        if rest.isEmpty { break }
      }
      return (container.end, container.insertion(of: elements, at: rest, in: text))
    }
    return Array(text[..<place]) + insertion + text[place...]
  }

  /// An open object or array.
  private struct Container {
    /// Whether the reader is at the value that was looked up.
    var isFound = false
    /// After the last member or element, or the opening bracket.
    var end: Int
    var isEmpty = true
    /// The white space before the first member or element, if it breaks the line.
    private var indentation: [UInt8]?

    /// Reads an object to the value of a member, or to its end.
    init(object reader: inout JSONReader, seeking name: String?) throws(CodedError) {
      var progress = try reader.beginObject()
      end = reader.offset
      while true {
        let start = reader.offset
        guard let key = try reader.nextKey(&progress) else { return }
        note(start, reader)
        if key == name {
          isFound = true
          return
        }
        _ = try reader.value()
        end = reader.offset
      }
    }

    /// Reads an array to its end.
    init(array reader: inout JSONReader) throws(CodedError) {
      var progress = try reader.beginArray()
      end = reader.offset
      while true {
        let start = reader.offset
        guard try reader.nextElement(&progress) else { return }
        note(start, reader)
        _ = try reader.value()
        end = reader.offset
      }
    }

    private mutating func note(_ start: Int, _ reader: JSONReader) {
      guard isEmpty else { return }
      isEmpty = false
      let space = reader.bytes[start...].prefix { $0 <= 0x20 }
      if space.contains(0x0A) { indentation = Array(space) }
    }

    /// The text to insert at the end: elements, or members with the remaining names around them.
    func insertion(of elements: [JSON], at names: ArraySlice<String>, in text: [UInt8]) -> [UInt8] {
      let separator = indentation ?? (isEmpty ? [] : [UInt8(ascii: " ")])
      var output: [UInt8] = isEmpty ? [] : [UInt8(ascii: ",")]
      output += separator
      for (number, name) in names.enumerated() {
        JSON.encode(name, into: &output)
        output += Array((number == names.count - 1 ? ": [" : ": {").utf8)
      }
      // In an array of its own, several elements have a line each.
      let inner: [UInt8]? = names.isEmpty ? indentation : indentation.map { $0 + [0x20, 0x20] }
      for (number, element) in elements.enumerated() {
        if number > 0 { output.append(UInt8(ascii: ",")) }
        if !names.isEmpty, let inner { output += inner } else if number > 0 { output += inner ?? [0x20] }
        element.encode(into: &output, style: .line)
      }
      if !names.isEmpty {
        if let indentation { output += indentation }
        output.append(UInt8(ascii: "]"))
        output += [UInt8](repeating: UInt8(ascii: "}"), count: names.count - 1)
      }
      return output
    }
  }
}
