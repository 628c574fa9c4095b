package import Basics
import Foundation
import HTTPMessages

/// The templates of a stub's response, parsed once.
package struct StubTemplates: Sendable {
  /// Nil for a body that is a file or Base64.
  var body: Template?
  var fileName: Template?
  var headers: [(name: String, value: Template)] = []
  var proxyURL: Template?
  var proxyHeaders: [(name: String, value: Template)] = []
  /// Whether the content of a body file is a template, too.
  package var readsFiles = true

  /// Whether nothing has to be filled in.
  package var isPlain: Bool {
    (body?.isPlain ?? true) && fileName == nil && (proxyURL?.isPlain ?? true) && headers.allSatisfy(\.value.isPlain)
      && proxyHeaders.allSatisfy(\.value.isPlain)
  }

  /// The error of the first helper that doesn't exist; the response cannot be rendered then.
  package var unknownHelper: CodedError? {
    let all = [body, fileName, proxyURL].compactMap(\.self) + (headers + proxyHeaders).map(\.value)
    return all.lazy.compactMap(\.unknownHelper).first
  }

  /// Parses the templates of a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - text: the text of its body; nil if it is not a text.
  ///   - place: the place of the response in the mapping.
  /// - Throws: ``CodedError`` that names the member, the line and the column.
  init(_ response: StubResponse, text: String?, at place: String) throws(CodedError) {
    func template(_ text: String, _ member: String) throws(CodedError) -> Template {
      try Template(text, name: place.isEmpty ? member : "\(place).\(member)")
    }
    if let text { body = try template(text, "body") }
    if case .file(let name) = response.body { fileName = try template(name, "bodyFileName") }
    for field in response.headers.fields {
      headers.append((field.name, try template(field.value, "headers.\(field.name)")))
    }
    guard let proxy = response.proxy else { return }
    proxyURL = try template(proxy.baseURL, "proxyBaseUrl")
    for field in proxy.additionalHeaders.fields {
      proxyHeaders.append((field.name, try template(field.value, "additionalProxyRequestHeaders.\(field.name)")))
    }
  }

  /// A response with everything filled in but the content of a body file.
  package func rendered(
    _ response: StubResponse, _ context: TemplateContext
  ) throws(CodedError) -> StubResponse {
    var response = response
    if let body { response.body = .bytes(Array(try body.render(context).utf8)) }
    if let fileName { response.body = .file(try fileName.render(context)) }
    response.headers = try Self.rendered(headers, context)
    if let proxyURL {
      response.proxy?.baseURL = try proxyURL.render(context)
      response.proxy?.additionalHeaders = try Self.rendered(proxyHeaders, context)
    }
    return response
  }

  private static func rendered(
    _ fields: [(name: String, value: Template)], _ context: TemplateContext
  ) throws(CodedError) -> Headers {
    var headers = Headers()
    for (name, value) in fields {
      let text = try value.render(context)
      // A line break in a request would otherwise add fields to the response.
      headers.append(name, String(text.map { $0.isNewline ? " " : $0 }))
    }
    return headers
  }
}

extension TemplateContext {
  /// - Parameters:
  ///   - request: the request.
  ///   - url: the pattern of its URL, which names parts of the path.
  ///   - requestName: what templates call the request.
  ///   - parameters: the stub's `transformerParameters`.
  ///   - context: the time.
  ///   - random: returns bytes for random values.
  package init(
    _ request: StubRequest, url: RequestPattern.URLPattern, requestName: String = "request", parameters: JSON,
    _ context: MatchContext, random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    let parts = request.parts.map { TemplateRequest.Part(name: $0.name ?? "", headers: $0.headers, body: $0.body) }
    self.init(
      request: TemplateRequest(
        method: request.method, url: request.target, scheme: request.scheme, host: request.host, port: request.port,
        headers: request.headers, body: request.content, pathVariables: request.pathParameters(url), parts: { parts }),
      requestName: requestName, parameters: TemplateValue(parameters), now: context.now, timeZone: context.timeZone,
      random: { _, count in random(count) },
      jsonPath: { (json, path) throws(CodedError) in
        try JSONPathQuery(path).nodes(in: json)
      },
      xPath: { (xml, path) throws(CodedError) in
        guard let document = try? XMLDocument(Array(xml.utf8)) else { return nil }
        return try document.elements(xpath: path)
      })
  }
}
