package import Basics
import CLibXML2

/// A parsed XML document, which can be queried by XPath 1.0.
///
/// ```swift
/// let document = try XMLDocument(Array("<order><id>7</id></order>".utf8))
/// try document.matches(xpath: "//id/text()")  // ["7"]
/// ```
///
/// Parsing loads nothing, and a document that declares entities is refused: no document reads files or expands without
/// end. Not thread-safe.
package final class XMLDocument {
  /// The maximum size in bytes. The tree needs several times that.
  package static let maximumSize = 32 << 20
  /// The maximum nesting, which fits a stack of 512 KiB, as threads have on macOS.
  private static let maximumDepth = 100
  private static let maximumExpression = 4096
  private static let maximumOperations: UInt = 10_000_000

  private let document: xmlDocPtr
  // What XPath sees differently without namespaces: the elements and the attributes that have one.
  private var elements: [(node: xmlNodePtr, namespace: xmlNsPtr)] = []
  private var attributes: [(node: xmlAttrPtr, namespace: xmlNsPtr)] = []
  private var hasNamespaces = true

  /// - Parameter bytes: the document in UTF-8, or in the encoding that it declares.
  /// - Throws: ``CodedError`` if the document is not well-formed, too large or nested too deeply, or declares entities.
  package init(_ bytes: [UInt8]) throws(CodedError) {
    guard bytes.count <= Self.maximumSize else {
      throw CodedError(.broken, "the XML has more than \(Self.maximumSize >> 20) MiB; use another matcher")
    }
    _ = Self.isInitialized
    guard let context = xmlNewParserCtxt() else { throw CodedError(.broken, "out of memory") }
    defer { xmlFreeParserCtxt(context) }
    context.pointee.sax?.pointee.entityDecl = { context, _, _, _, _, _ in
      guard let context = context?.assumingMemoryBound(to: xmlParserCtxt.self) else { return }
      // "Blocks further parser processing". "_private: For user data".
      xmlStopParser(context)
      context.pointee._private = UnsafeMutableRawPointer(context)
    }
    // "XML_PARSE_NONET: Forbid network access", "XML_PARSE_NOERROR: suppress error reports". Without XML_PARSE_DTDLOAD,
    // it does not "load the external subset"; without XML_PARSE_HUGE, it keeps "any hardcoded limit from the parser": 256
    // levels, and 10 MB for a text.
    let options = XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
    let parsed = bytes.withUnsafeBytes { bytes in
      xmlCtxtReadMemory(
        context, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), nil, nil, Int32(options))
    }
    guard context.pointee._private == nil else {
      // A stopped parser returns what it has read so far.
      xmlFreeDoc(parsed)
      throw CodedError(.broken, "the XML declares entities, which are not supported")
    }
    guard let parsed else { throw CodedError(.broken, "not XML: \(Self.problem(context))") }
    document = parsed
    guard let root = xmlDocGetRootElement(parsed), note(root, depth: 1) else {
      throw CodedError(.broken, "the XML is nested more than \(Self.maximumDepth) deep")
    }
  }

  // "Free up all the structures used by a document, tree included."
  deinit { xmlFreeDoc(document) }

  /// "Initialization function for the XML parser. This is not reentrant. Call once before processing in case of use in
  /// multithreaded programs."
  private static let isInitialized: Void = xmlInitParser()

  private static func problem(_ context: xmlParserCtxtPtr) -> String {
    // "Get the last parsing error registered." "NULL if no error occurred or a pointer to the error".
    guard let error = xmlCtxtGetLastError(context), let message = error.pointee.message else { return "it is empty" }
    return "line \(error.pointee.line): \(String(cString: message).split(separator: "\n").first ?? "")"
  }

  /// Collects what has a namespace; returns false if the elements are nested too deeply.
  private func note(_ node: xmlNodePtr, depth: Int) -> Bool {
    guard depth <= Self.maximumDepth else { return false }
    if let namespace = node.pointee.ns { elements.append((node, namespace)) }
    for attribute in node.attributes {
      if let namespace = attribute.pointee.ns { attributes.append((attribute, namespace)) }
    }
    for child in node.children where child.pointee.type == XML_ELEMENT_NODE {
      guard note(child, depth: depth + 1) else { return false }
    }
    return true
  }

  // MARK: XPath

  /// Evaluates an XPath expression.
  ///
  /// Without `namespaces`, as in WireMock, `order` finds elements in any namespace, whatever their prefix is.
  ///
  /// - Parameters:
  ///   - xpath: the expression.
  ///   - namespaces: the namespaces by the prefixes used in the expression.
  /// - Returns: the results as WireMock prints them: attributes and texts as they are, elements as indented XML, comments as
  ///   `[#comment: …]`, numbers in decimal, and `true`; nothing for an empty set and `false`.
  /// - Throws: ``CodedError`` if the expression is not valid or takes too many steps.
  package func matches(xpath: String, namespaces: [String: String] = [:]) throws(CodedError) -> [String] {
    try evaluate(xpath, namespaces, other: \.self, node: printed)
  }

  /// What an expression selects, for templates.
  ///
  /// - Parameter xpath: the expression.
  /// - Returns: the selected nodes in document order, or one element for a text or a number.
  /// - Throws: ``CodedError`` if the expression is not valid or takes too many steps.
  package func elements(xpath: String) throws(CodedError) -> [TemplateElement] {
    try evaluate(xpath, [:], other: { TemplateElement(name: "", text: $0, source: $0) }) { node in
      guard node.pointee.type == XML_ELEMENT_NODE else {
        let text = printed(node)
        return TemplateElement(name: node.name, text: text, source: text)
      }
      // "The content of the node … It must be freed by the caller", all of its texts.
      let content = xmlNodeGetContent(node)
      defer { cLibXML2Free(content) }
      return TemplateElement(
        name: node.qualifiedName, text: content.map { String(cString: $0) } ?? "",
        attributes: node.attributes.map { .init($0.qualifiedName, $0.value) }, source: printed(node))
    }
  }

  private func evaluate<Value>(
    _ xpath: String, _ namespaces: [String: String], other: (String) -> Value, node: (xmlNodePtr) -> Value
  ) throws(CodedError) -> [Value] {
    guard xpath.utf8.count <= Self.maximumExpression else {
      throw CodedError(.broken, "the XPath expression has more than \(Self.maximumExpression) bytes")
    }
    see(namespaces: !namespaces.isEmpty)
    guard let context = xmlXPathNewContext(document) else { throw CodedError(.broken, "out of memory") }
    defer { xmlXPathFreeContext(context) }
    // Relative paths start at the document.
    context.pointee.node = UnsafeMutableRawPointer(document).assumingMemoryBound(to: xmlNode.self)
    // Without these, errors are printed: without a function of its own, the context uses the global one, and for an unknown
    // function it does so anyway.
    context.pointee.error = { _, _ in }
    cLibXML2Silence()
    context.pointee.opLimit = Self.maximumOperations
    for (prefix, uri) in namespaces { xmlXPathRegisterNs(context, prefix, uri) }
    // "The xmlXPathObjectPtr resulting from the evaluation or NULL. The caller has to free the object."
    guard let result = xmlXPathEval(xpath, context) else {
      let reason = context.pointee.lastError.message.map { String(cString: $0) } ?? "it is not valid"
      throw CodedError(
        .broken,
        "the XPath expression '\(xpath.prefix(80))' failed: \(reason.split(separator: "\n").first ?? ""); "
          + "example: //order[@id='7']/name/text()")
    }
    defer { xmlXPathFreeObject(result) }
    switch result.pointee.type {
    case XPATH_NODESET:
      guard let set = result.pointee.nodesetval, let table = set.pointee.nodeTab else { return [] }
      // "Sort the node set in document order".
      xmlXPathNodeSetSort(set)
      return (0..<Int(set.pointee.nodeNr)).compactMap { table[$0].map(node) }
    case XPATH_STRING: return [other(result.pointee.stringval.map { String(cString: $0) } ?? "")]
    case XPATH_BOOLEAN: return result.pointee.boolval == 0 ? [] : [other("true")]
    case XPATH_NUMBER:
      let number = result.pointee.floatval
      return [other(Int(exactly: number).map { "\($0)" } ?? "\(number)")]
    default: return []
    }
  }

  /// Checks an XPath expression when a stub is loaded.
  ///
  /// - Throws: ``CodedError`` if the expression is not valid, such as for a prefix that is missing in `namespaces`.
  package static func check(xpath: String, namespaces: [String: String] = [:]) throws(CodedError) {
    _ = try XMLDocument(Array("<a/>".utf8)).matches(xpath: xpath, namespaces: namespaces)
  }

  private func see(namespaces: Bool) {
    guard namespaces != hasNamespaces else { return }
    hasNamespaces = namespaces
    for (node, namespace) in elements { node.pointee.ns = namespaces ? namespace : nil }
    for (node, namespace) in attributes { node.pointee.ns = namespaces ? namespace : nil }
  }

  private func printed(_ node: xmlNodePtr) -> String {
    switch node.pointee.type {
    case XML_ATTRIBUTE_NODE:
      return UnsafeMutableRawPointer(node).assumingMemoryBound(to: xmlAttr.self).value
    case XML_TEXT_NODE: return node.content
    // Java's `toString` of other nodes.
    case XML_CDATA_SECTION_NODE: return "[#cdata-section: \(node.content)]"
    case XML_COMMENT_NODE: return "[#comment: \(node.content)]"
    case XML_PI_NODE: return "[\(node.name): \(node.content)]"
    case XML_NAMESPACE_DECL:
      // "xmlNs … type" is at the same place as in a node.
      let namespace = UnsafeMutableRawPointer(node).assumingMemoryBound(to: xmlNs.self)
      return namespace.pointee.href.map { String(cString: $0) } ?? ""
    default:
      let declares = hasNamespaces
      see(namespaces: true)
      defer { see(namespaces: declares) }
      var printer = XMLPrinter(declaresNamespaces: declares)
      if node.pointee.type == XML_ELEMENT_NODE {
        printer.element(node, depth: 0, isIndented: true, [:])
      } else {
        for child in node.children { printer.node(child, depth: 0, isIndented: true, [:]) }
      }
      return printer.text + "\n"
    }
  }

  // MARK: The tree

  /// The document without comments and white space around texts, as XMLUnit compares it.
  var tree: XMLTree {
    see(namespaces: true)
    var children: [XMLTree] = []
    var node = document.pointee.children
    while let current = node {
      if let child = Self.tree(current) { children.append(child) }
      node = current.pointee.next
    }
    return XMLTree(kind: .document, children: children)
  }

  private static func tree(_ node: xmlNodePtr) -> XMLTree? {
    switch node.pointee.type {
    case XML_ELEMENT_NODE:
      var children: [XMLTree] = []
      var text = ""
      func flush() {
        let trimmed = text.trimmedAsInJava
        if !trimmed.isEmpty { children.append(XMLTree(kind: .text(trimmed), children: [])) }
        text = ""
      }
      for child in node.children {
        if child.pointee.type == XML_TEXT_NODE || child.pointee.type == XML_CDATA_SECTION_NODE {
          text += child.content
        } else if let child = tree(child) {
          flush()
          children.append(child)
        }
      }
      flush()
      let attributes = node.attributes.map { ($0.qualifiedName, $0.value.trimmedAsInJava) }
      var namespace: String?
      if let own = node.pointee.ns, own.pointee.prefix == nil {
        namespace = own.pointee.href.map { String(cString: $0) }
      }
      return XMLTree(
        kind: .element(name: node.name, namespace: namespace, attributes.sorted { $0.0 < $1.0 }), children: children)
    case XML_PI_NODE:
      return XMLTree(kind: .instruction(target: node.name, node.content.trimmedAsInJava), children: [])
    default: return nil
    }
  }
}

/// A node and what is in it.
struct XMLTree: Sendable {
  enum Kind: Sendable {
    case document
    /// The name without its prefix, the default namespace, and the attributes by their names with prefixes, sorted.
    ///
    /// The namespace of a prefix does not count, since WireMock does not parse the expected document's prefixes.
    case element(name: String, namespace: String?, [(name: String, value: String)])
    case text(String)
    case instruction(target: String, String)
  }

  let kind: Kind
  let children: [XMLTree]

  /// All texts in it.
  var text: String {
    if case .text(let text) = kind { text } else { children.reduce("") { $0 + $1.text } }
  }
}

/// Prints nodes as Java's transformer does with an indentation of two.
private struct XMLPrinter {
  let declaresNamespaces: Bool
  private(set) var text = ""

  init(declaresNamespaces: Bool) {
    self.declaresNamespaces = declaresNamespaces
  }

  /// Prints an element; `scope` has the declared namespaces by prefix.
  mutating func element(_ node: xmlNodePtr, depth: Int, isIndented: Bool, _ scope: [String: String]) {
    var scope = scope
    text += "<\(node.qualifiedName)"
    var declaration = node.pointee.nsDef
    while let current = declaration {
      declare(current, &scope)
      declaration = current.pointee.next
    }
    var isIndented = isIndented
    for attribute in node.attributes.sorted(by: { $0.qualifiedName < $1.qualifiedName }) {
      if declaresNamespaces, let namespace = attribute.pointee.ns { declare(namespace, &scope) }
      text += " \(attribute.qualifiedName)=\"\(Self.escaped(attribute.value, isAttribute: true))\""
      if attribute.qualifiedName == "xml:space", attribute.value == "preserve" { isIndented = false }
    }
    if declaresNamespaces, let namespace = node.pointee.ns { declare(namespace, &scope) }
    let children = node.children
    guard !children.isEmpty else {
      text += "/>"
      return
    }
    text += ">"
    let isText = children.allSatisfy { $0.pointee.type == XML_TEXT_NODE || $0.pointee.type == XML_CDATA_SECTION_NODE }
    isIndented = isIndented && !isText
    for child in children {
      if isIndented { text += "\n" + String(repeating: "  ", count: depth + 1) }
      self.node(child, depth: depth + 1, isIndented: isIndented, scope)
    }
    if isIndented { text += "\n" + String(repeating: "  ", count: depth) }
    text += "</\(node.qualifiedName)>"
  }

  mutating func node(_ node: xmlNodePtr, depth: Int, isIndented: Bool, _ scope: [String: String]) {
    switch node.pointee.type {
    case XML_ELEMENT_NODE: element(node, depth: depth, isIndented: isIndented, scope)
    case XML_TEXT_NODE:
      let content = Self.escaped(node.content, isAttribute: false)
      text += isIndented ? String(content.unicodeScalars.drop { $0 == "\n" }) : content
    case XML_CDATA_SECTION_NODE: text += "<![CDATA[\(node.content)]]>"
    case XML_COMMENT_NODE: text += "<!--\(node.content)-->"
    case XML_PI_NODE: text += "<?\(node.name) \(node.content)?>"
    default: break
    }
  }

  private mutating func declare(_ namespace: xmlNsPtr, _ scope: inout [String: String]) {
    let prefix = namespace.pointee.prefix.map { String(cString: $0) } ?? ""
    let uri = namespace.pointee.href.map { String(cString: $0) } ?? ""
    guard prefix != "xml", scope[prefix] != uri else { return }
    scope[prefix] = uri
    text += " xmlns\(prefix.isEmpty ? "" : ":")\(prefix)=\"\(Self.escaped(uri, isAttribute: true))\""
  }

  private static func escaped(_ text: String, isAttribute: Bool) -> String {
    var output = "".unicodeScalars
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": output.append(contentsOf: "&amp;".unicodeScalars)
      case "<": output.append(contentsOf: "&lt;".unicodeScalars)
      case ">": output.append(contentsOf: "&gt;".unicodeScalars)
      case "\"" where isAttribute: output.append(contentsOf: "&quot;".unicodeScalars)
      case "\r": output.append(contentsOf: "&#13;".unicodeScalars)
      case "\n" where isAttribute: output.append(contentsOf: "&#10;".unicodeScalars)
      case "\t" where isAttribute: output.append(contentsOf: "&#9;".unicodeScalars)
      default: output.append(scalar)
      }
    }
    return String(output)
  }
}

extension xmlNodePtr {
  fileprivate var name: String { pointee.name.map { String(cString: $0) } ?? "" }
  fileprivate var content: String { pointee.content.map { String(cString: $0) } ?? "" }

  fileprivate var qualifiedName: String {
    guard let prefix = pointee.ns?.pointee.prefix else { return name }
    return "\(String(cString: prefix)):\(name)"
  }

  fileprivate var children: [xmlNodePtr] {
    var children: [xmlNodePtr] = []
    var child = pointee.children
    while let current = child {
      children.append(current)
      child = current.pointee.next
    }
    return children
  }

  /// Only elements have attributes: in other nodes, the field has another meaning.
  fileprivate var attributes: [xmlAttrPtr] {
    guard pointee.type == XML_ELEMENT_NODE else { return [] }
    var attributes: [xmlAttrPtr] = []
    var attribute = pointee.properties
    while let current = attribute {
      attributes.append(current)
      attribute = current.pointee.next
    }
    return attributes
  }
}

extension xmlAttrPtr {
  fileprivate var qualifiedName: String {
    let name = pointee.name.map { String(cString: $0) } ?? ""
    guard let prefix = pointee.ns?.pointee.prefix else { return name }
    return "\(String(cString: prefix)):\(name)"
  }

  /// "The children": texts.
  fileprivate var value: String {
    var value = ""
    var child = pointee.children
    while let current = child {
      value += current.content
      child = current.pointee.next
    }
    return value
  }
}

extension String {
  /// Without the characters up to U+0020 at both ends.
  fileprivate var trimmedAsInJava: String {
    var view = unicodeScalars[...]
    while let first = view.first, first.value <= 0x20 { view.removeFirst() }
    while let last = view.last, last.value <= 0x20 { view.removeLast() }
    return String(view)
  }
}
