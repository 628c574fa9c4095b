/// An XML document as it is compared: elements and text in order, attributes in any; names by their name space, whatever
/// the prefix; comments, processing instructions and white space between tags left out.
package struct XMLContent {
  /// A name and its value.
  struct Attribute: Equatable {
    /// As an element's name.
    let name: String
    var value: String
  }

  /// What comes next in the document.
  enum Event: Equatable {
    /// `{name space}local`, or `local` without one; attributes in the order of their names.
    case start(name: String, [Attribute])
    case text(String)
    case end
  }

  var events: [Event]

  /// Nil where the bytes are no XML that is well formed, in UTF-8 and without a document type: entities of one's own can
  /// make a body as large as they like.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = XMLReader(bytes)
    guard let events = reader.document() else { return nil }
    self.events = events
  }

  /// Adds the document to a hash.
  func append(to hash: inout SipHash) {
    for event in events {
      switch event {
      case .start(let name, let attributes):
        hash.append(text: name)
        for attribute in attributes {
          hash.append(text: attribute.name)
          hash.append(text: attribute.value)
        }
        hash.append(number: attributes.count)
        hash.append(1)
      case .text(let text):
        hash.append(text: text)
        hash.append(2)
      case .end: hash.append(3)
      }
    }
    hash.append(number: events.count)
  }

  /// The document with its texts and its attributes' values changed; a text of which nothing is left is none.
  func mapTexts<Failure: Error>(_ change: (String) throws(Failure) -> String) throws(Failure) -> XMLContent {
    var content = self
    content.events.removeAll(keepingCapacity: true)
    for event in events {
      switch event {
      case .start(let name, var attributes):
        for number in attributes.indices { attributes[number].value = try change(attributes[number].value) }
        content.events.append(.start(name: name, attributes))
      case .text(let text):
        let kept = try change(text)
        if !kept.isEmpty { content.events.append(.text(kept)) }
      case .end: content.events.append(.end)
      }
    }
    return content
  }
}
