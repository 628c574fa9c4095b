import Basics
import Foundation

/// An attachment in the page.
struct HTMLAttachment {
  /// How much of a text is shown, in characters.
  private static let textLimit = 100_000

  private let attachment: Message.Attachment
  private let owner: String

  /// - Parameters:
  ///   - attachment: the attachment.
  ///   - owner: the step or scenario that it belongs to.
  init(_ attachment: Message.Attachment, of owner: String) {
    self.attachment = attachment
    self.owner = owner
  }

  /// The media type without parameters, in lowercase.
  private var type: String {
    let name = attachment.mediaType.split(separator: ";").first.map(String.init) ?? ""
    return name.trimmingCharacters(in: .whitespaces).lowercased()
  }

  func append(to html: inout HTML) {
    if let url = attachment.url, attachment.body.isEmpty {
      html.element("p") { HTMLPage.link(url, attachment.fileName ?? url, &$0) }
      return
    }
    switch type {
    case "text/x.cucumber.log+plain":
      html.element("pre", ["class": "log"], text: attachment.text.withoutTerminalColors)
    case "text/uri-list":
      for url in attachment.text.split(whereSeparator: \.isNewline) where !url.hasPrefix("#") {
        html.element("p") { HTMLPage.link(String(url), String(url), &$0) }
      }
    case _ where type.hasPrefix("image/"):
      html.element("figure") { html in
        html.void(
          "img", ["src": data, "alt": attachment.fileName ?? "Picture of “\(owner)”", "loading": "lazy"])
        if let name = attachment.fileName { html.element("figcaption", text: name) }
      }
    case _ where type.hasPrefix("video/"):
      html.element("video", ["src": data, "controls": "", "preload": "none", "aria-label": name]) { _ in }
    case _ where type.hasPrefix("audio/"):
      html.element("audio", ["src": data, "controls": "", "preload": "none", "aria-label": name]) { _ in }
    case "application/json",
      _ where type.hasSuffix("+json"):
      text((try? JSON.parse(attachment.bytes)).map { String(decoding: $0.encoded(.pretty), as: UTF8.self) }, &html)
    case _ where type.hasPrefix("text/") || type.hasSuffix("+xml") || type.hasSuffix("ndjson"),
      "application/xml", "application/yaml", "application/javascript":
      text(nil, &html)
    default: download(&html)
    }
  }

  private var name: String { attachment.fileName ?? "Attachment of “\(owner)”" }

  /// A text, folded if it is long.
  private func text(_ pretty: String?, _ html: inout HTML) {
    let text = (pretty ?? attachment.text).withoutTerminalColors
    let size = text.utf8.count
    html.element("details", ["class": "part", "open": size < 400 ? "" : nil]) { html in
      html.element("summary") { html in
        html.text(attachment.fileName ?? attachment.mediaType)
        html.element("span", ["class": "muted"], text: " \(Self.size(size))")
      }
      html.element(
        "pre", ["class": "doc", "tabindex": "0", "role": "region", "aria-label": name],
        text: String(text.prefix(Self.textLimit)))
      if size > Self.textLimit { download(&html) }
    }
  }

  private func download(_ html: inout HTML) {
    let what = "\(attachment.mediaType), \(Self.size(attachment.bytes.count))"
    html.element("p") { html in
      html.element(
        "a", ["href": data, "download": attachment.fileName ?? "attachment"],
        text: "Download \(attachment.fileName ?? "the attachment") (\(what))")
    }
  }

  /// A URL with the body.
  private var data: String {
    let isPlain = type.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"),
        UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    let body =
      attachment.contentEncoding == .base64
      ? Data(attachment.bytes).base64EncodedString() : Data(attachment.body.utf8).base64EncodedString()
    return "data:\(isPlain && !type.isEmpty ? type : "application/octet-stream");base64,\(body)"
  }

  private static func size(_ bytes: Int) -> String {
    bytes < 1000 ? "\(bytes) bytes" : bytes < 1_000_000 ? "\(bytes / 1000) kB" : "\(bytes / 1_000_000) MB"
  }
}
