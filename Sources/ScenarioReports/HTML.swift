/// HTML under construction. All text and attribute values are escaped; only fixed markup is not.
///
/// ```swift
/// var html = HTML()
/// html.element("p", ["class": "note"]) { $0.text("1 < 2") }
/// html.output  // <p class="note">1 &lt; 2</p>
/// ```
package struct HTML {
  /// The markup so far.
  package private(set) var output = ""

  /// Appends an element.
  ///
  /// - Parameters:
  ///   - name: its tag.
  ///   - attributes: those with the value nil are left out; `""` is for attributes without a value.
  ///   - content: appends the content.
  package mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], _ content: (inout HTML) -> Void
  ) {
    void(name, attributes)
    content(&self)
    output += "</\(name)>"
  }

  /// Appends an element that has no content and no end tag, such as `meta`.
  package mutating func void(_ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:]) {
    output += "<\(name)"
    for (name, value) in attributes {
      guard let value else { continue }
      output += value.isEmpty ? " \(name)" : " \(name)=\"\(Self.escaped(value))\""
    }
    output += ">"
  }

  /// Appends an element with a text.
  package mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], text: String
  ) {
    element(name, attributes) { $0.text(text) }
  }

  /// A whole page in the project's style: without other files, network or, except for the script, JavaScript.
  ///
  /// - Parameters:
  ///   - title: the title of the window.
  ///   - script: the page's script; nil for none.
  ///   - body: appends the content of the body.
  /// - Returns: the document.
  package static func page(title: String, script: StaticString? = nil, _ body: (inout HTML) -> Void) -> String {
    // Only elements with it are run or applied, in case text ever gets into the page as markup.
    let nonce = String((0..<24).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a" })
    var html = HTML()
    html.markup("<!DOCTYPE html>\n")
    html.element("html", ["lang": "en"]) { html in
      html.element("head") { html in
        html.void("meta", ["charset": "utf-8"])
        html.void(
          "meta",
          [
            "http-equiv": "Content-Security-Policy",
            "content": "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; img-src data:; "
              + "media-src data:; base-uri 'none'; form-action 'none'",
          ])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.void("meta", ["name": "color-scheme", "content": "light dark"])
        html.element("title", text: title)
        html.element("style", ["nonce": nonce]) { $0.markup(HTMLStyle.css) }
      }
      html.markup("\n")
      html.element("body") { html in
        body(&html)
        if let script { html.element("script", ["nonce": nonce]) { $0.markup(script) } }
      }
    }
    html.markup("\n")
    return html.output
  }

  /// Appends text.
  package mutating func text(_ text: String) { output += Self.escaped(text) }

  /// Appends fixed markup.
  package mutating func markup(_ markup: StaticString) { output += "\(markup)" }

  /// The text with references. Control characters become their pictures (U+2400…), so that one sees them.
  private static func escaped(_ text: String) -> String {
    var text = text
    let isPlain = text.withUTF8 { bytes in
      bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"), 0x7F:
          false
        default: byte >= 0x20 || byte == 0x0A || byte == 0x09
        }
      }
    }
    if isPlain { return text }
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;".unicodeScalars
      case "<": escaped += "&lt;".unicodeScalars
      case ">": escaped += "&gt;".unicodeScalars
      case "\"": escaped += "&quot;".unicodeScalars
      case "'": escaped += "&#39;".unicodeScalars
      case "\n", "\t": escaped.append(scalar)
      case "\r": break
      case "\u{7F}": escaped.append("\u{2421}")
      case _ where scalar.value < 0x20: escaped.append(Unicode.Scalar(UInt16(0x2400 + scalar.value)) ?? "\u{FFFD}")
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}
