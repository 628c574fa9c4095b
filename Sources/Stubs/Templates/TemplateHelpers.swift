import Basics
import Cassettes
import Foundation

/// The helpers of WireMock 2.35.1: those of handlebars.java, WireMock's own, and some of WireMock 3.
enum TemplateHelper: String, CaseIterable {
  // Blocks and values
  case `if`, unless, each, with, lookup, log, assign, val
  // Conditions
  case eq, neq, gt, gte, lt, lte, and, or, not, contains, matches, isEven, isOdd, stripes, yesno
  // Texts
  case capitalize, capitalizeFirst, center, cut, defaultIfEmpty, join, ljust, rjust, lower, upper, replace, slugify
  case stringFormat, stripTags, substring, wordWrap, abbreviate, numberFormat, trim, base64, urlEncode, regexExtract
  // Dates
  case now, date, parseDate, truncateDate, dateFormat
  // Random values
  case randomValue, randomInt, randomDecimal, pickRandom
  // Data
  case jsonPath, xPath, soapXPath, formData, parseJson, toJson, math, range, array, arrayAdd, arrayRemove, arrayJoin
  case size, hostname, systemValue
  // Known to WireMock, but for files, scripts or languages
  case block, partial, embedded, precompile, include, i18n, i18nJs

  var isUnsupported: Bool {
    switch self {
    case .block, .partial, .embedded, .precompile, .include, .i18n, .i18nJs: true
    default: false
    }
  }
}

/// One call of a helper.
struct TemplateCall {
  let expression: TemplateExpression
  /// The block that begins with the call; nil for a call in a tag or in an expression.
  let block: TemplateBlock?
  let scope: TemplateScope
  let renderer: TemplateRenderer
  /// The first parameter, or without parameters the value of the scope.
  var context: TemplateValue?
  /// The other parameters.
  var params: [TemplateValue?] = []
  var hash: [(name: String, value: TemplateValue)] = []

  init(_ expression: TemplateExpression, block: TemplateBlock?, scope: TemplateScope, renderer: TemplateRenderer) {
    self.expression = expression
    self.block = block
    self.scope = scope
    self.renderer = renderer
  }

  private var hasParams: Bool { !expression.params.isEmpty }
  private var name: String { expression.name }

  /// Calls a helper.
  ///
  /// - Returns: what the tag prints; nil for nothing. A block may have printed already.
  func value(of helper: TemplateHelper) throws(CodedError) -> TemplateValue? {
    switch helper {
    case .if: return try choose(!isFalse(context))
    case .unless: return try choose(isFalse(context))
    case .each: return try each()
    case .with:
      let inner = TemplateScope(context ?? .null, in: scope)
      try render(isFalse(context) ? block?.inverse : block?.body, in: inner)
      return nil
    case .lookup:
      guard let context = context?.present, let key = params.first else { return context }
      let inner = TemplateScope(context, in: scope)
      return renderer.lookUp(TemplatePath(try text(key, "a name")), in: inner) ?? context
    case .log: return nil
    case .assign:
      renderer.store(.string(try content().javaTrimmed), as: try text("the name of a variable"))
      return nil
    case .val:
      let value = context?.present ?? option("or") ?? option("default")
      guard let variable = option("assign") else { return value }
      renderer.store(value, as: try text(variable, "'assign'"))
      return nil

    case .eq: return try condition(context?.present == param(0))
    case .neq: return try condition(context?.present != param(0))
    case .gt: return try condition(try compared() > 0)
    case .gte: return try condition(try compared() >= 0)
    case .lt: return try condition(try compared() < 0)
    case .lte: return try condition(try compared() <= 0)
    case .and: return try condition(!([context] + params).contains { isFalse($0) })
    case .or: return try condition(([context] + params).contains { !isFalse($0) })
    case .not: return try condition(isFalse(context))
    case .contains, .matches: return try search(isPattern: helper == .matches)
    case .isEven, .isOdd, .stripes:
      guard let number = context?.number else { return nil }
      let isEven = Int(clamping: number) % 2 == 0
      if helper == .stripes { return isEven ? param(0) ?? .string("even") : param(1) ?? .string("odd") }
      return isEven == (helper == .isEven) ? param(0) ?? .string(isEven ? "even" : "odd") : nil
    case .yesno:
      guard let context = context?.present else { return option("maybe") ?? .string("maybe") }
      guard case .bool(let value) = context else {
        throw failure("'yesno' needs true, false or nothing, not \(shown(context))")
      }
      return option(value ? "yes" : "no") ?? .string(value ? "yes" : "no")

    case .capitalize, .capitalizeFirst, .center, .ljust, .rjust, .lower, .upper, .replace, .slugify, .stringFormat,
      .stripTags, .substring, .wordWrap, .abbreviate, .dateFormat:
      // These print the second parameter if the first is empty.
      guard let context, !context.isEmpty else { return param(0).map { .string($0.text) } }
      return .string(helper == .dateFormat ? try dateFormat() : try changed(try text("a text"), by: helper))
    case .cut:
      guard let context, !context.isEmpty else { return .string("") }
      return .string(try replaced(try text("a text"), try optional(param(0), "a text") ?? " ", by: ""))
    case .defaultIfEmpty:
      guard let context, !context.isEmpty else { return param(0) ?? .string("") }
      return .string(try text("a text"))
    case .join: return try join()
    case .numberFormat: return try numberFormat()
    case .trim: return .string(try content(or: context).javaTrimmed)
    case .base64: return .string(try base64())
    case .urlEncode:
      let value = try text("a text")
      let encoding = option("encoding")?.text.lowercased() ?? "utf-8"
      let isLatin = ["iso-8859-1", "latin1"].contains(encoding)
      guard isLatin || encoding == "utf-8" || encoding == "utf8" else {
        throw failure("'urlEncode' knows the encodings utf-8 and iso-8859-1, not '\(encoding)'")
      }
      return .string(
        isOn("decode") ? value.percentDecoded(plusIsSpace: true, isLatin: isLatin) : value.formEncoded(isLatin: isLatin)
      )
    case .regexExtract: return try regexExtract()

    case .now, .date: return try date(isNow: helper == .now)
    case .parseDate: return try parseDate()
    case .truncateDate: return try truncateDate()

    case .randomValue: return try randomValue()
    case .randomInt:
      let lower = try optionalInt("lower") ?? Int(Int32.min)
      let upper = try optionalInt("upper") ?? Int(Int32.max)
      guard lower < upper else { throw failure("'lower' has to be less than 'upper'") }
      return .int(lower &+ Int(truncatingIfNeeded: draw(UInt64(bitPattern: Int64(upper &- lower)), for: .integer)))
    case .randomDecimal:
      let lower = try optionalDouble("lower") ?? .leastNonzeroMagnitude
      let upper = try optionalDouble("upper") ?? .greatestFiniteMagnitude
      guard lower < upper else { throw failure("'lower' has to be less than 'upper'") }
      let unit = Double(draw(1 << 53, for: .decimal)) / Double(1 << 53)
      let value = lower * (1 - unit) + upper * unit
      return .double(value < upper ? value : upper.nextDown)
    case .pickRandom:
      guard let context = context?.present else {
        return error("Must specify either a single list argument or a set of single value arguments.")
      }
      var choices = [context] + params.map { $0 ?? .null }
      if case .list(let list) = context { choices = list.elements }
      guard !choices.isEmpty else { throw failure("'pickRandom' needs at least one value") }
      return .string(try text(choices[Int(draw(UInt64(choices.count), for: .pick))], "a value"))

    case .jsonPath: return try jsonPath()
    case .xPath, .soapXPath: return try xPath(prefix: helper == .xPath ? "" : "/Envelope/Body/")
    case .formData: return try formData()
    case .parseJson: return try parseJSON()
    case .toJson:
      guard let context = context?.present else { return .string("") }
      var output = ""
      context.json.writeLikeJackson(into: &output)
      return .string(output)
    case .math: return try math()
    case .range:
      guard let lower = context?.coercedInt, let upper = param(0)?.coercedInt else {
        return error("The range helper requires both lower and upper bounds as integer parameters")
      }
      let (count, overflows) = upper.subtractingReportingOverflow(lower)
      guard !overflows, count >= -1 else { throw failure("the range ends before it begins") }
      try renderer.step(count == .max ? .max : count + 1)
      return count < 0 ? .list(TemplateList([])) : .list(TemplateList((lower...upper).map { .int($0) }))
    case .array:
      guard hasParams, let context = context?.present else { return .list(TemplateList([])) }
      return try list([context] + params.map { $0 ?? .null })
    case .arrayAdd, .arrayRemove: return try arrayChanged(isAdding: helper == .arrayAdd)
    case .arrayJoin: return try arrayJoin()
    case .size:
      switch context {
      case .string(let text)?: return .int(text.utf16.count)
      case .list(let list)?: return .int(list.elements.count)
      case .map(let map)?: return .int(map.members.count)
      case nil, .null?: throw missing("a text, list or map")
      default: return nil
      }
    case .hostname: return .string(renderer.context.hostname)
    case .systemValue:
      guard let key = option("key")?.text, !key.isEmpty else { return error("The key cannot be empty") }
      // WireMock allows keys that begin so, and there are none.
      return key.lowercased().hasPrefix("wiremock") ? nil : error("Access to \(key) is denied")
    case .block, .partial, .embedded, .precompile, .include, .i18n, .i18nJs: return nil
    }
  }

  // MARK: Parameters

  private func param(_ index: Int) -> TemplateValue? {
    params.indices.contains(index) ? params[index]?.present : nil
  }

  private func option(_ name: String) -> TemplateValue? {
    hash.first { $0.name == name }?.value.present
  }

  private func isOn(_ name: String) -> Bool {
    if case .bool(true)? = option(name) { true } else { false }
  }

  private func isFalse(_ value: TemplateValue?) -> Bool { value?.isEmpty ?? true }

  /// The text of the first parameter.
  private func text(_ kind: String) throws(CodedError) -> String {
    guard let context = context?.present else { throw missing(kind) }
    return try text(context, kind)
  }

  private func text(_ value: TemplateValue?, _ kind: String) throws(CodedError) -> String {
    guard let value = value?.present else { throw missing(kind) }
    return try renderer.text(of: value, at: expression.offset)
  }

  private func int(_ value: TemplateValue?, _ kind: String) throws(CodedError) -> Int {
    guard let int = value?.coercedInt else {
      throw failure("'\(name)': \(kind) has to be an integer, not \(shown(value))")
    }
    return int
  }

  private func double(_ value: TemplateValue, _ kind: String) throws(CodedError) -> Double {
    guard let number = value.number ?? value.string.flatMap({ Double($0.javaTrimmed) }), number.isFinite else {
      throw failure("'\(name)': \(kind) has to be a number, not \(shown(value))")
    }
    return number
  }

  private func optional(_ value: TemplateValue?, _ kind: String) throws(CodedError) -> String? {
    value == nil ? nil : try text(value, kind)
  }

  private func optionalInt(_ name: String) throws(CodedError) -> Int? {
    guard let value = option(name) else { return nil }
    return try int(value, "'\(name)'")
  }

  private func optionalDouble(_ name: String) throws(CodedError) -> Double? {
    guard let value = option(name) else { return nil }
    return try double(value, "'\(name)'")
  }

  private func shown(_ value: TemplateValue?) -> String { value.map { "'\($0.text.prefix(80))'" } ?? "nothing" }

  private func missing(_ kind: String) -> CodedError {
    let given: String? = if case .path(let path)? = expression.params.first { path.text } else { nil }
    return failure(
      "'\(name)' needs \(kind)"
        + (given.map { ", and '\($0)' has no value; check the path, or use 'defaultIfEmpty'" } ?? "; add it"))
  }

  private func failure(_ problem: String) -> CodedError { renderer.failure(problem, at: expression.offset) }

  /// What WireMock's helpers print instead of failing.
  private func error(_ message: String) -> TemplateValue { .string("[ERROR: \(message)]") }

  private func list(_ elements: [TemplateValue]) throws(CodedError) -> TemplateValue {
    try renderer.step(elements.count)
    let list = TemplateList(elements)
    guard list.depth <= Template.Limit.valueDepth, list.weight <= Template.Limit.steps else {
      throw failure("the list is too large; put fewer lists into each other")
    }
    return .list(list)
  }

  // MARK: Blocks

  /// Prints one of the bodies. The value of a single name in `as |name|` is that of the scope.
  private func render(
    _ nodes: [TemplateNode]?, in scope: TemplateScope, _ values: [TemplateValue]? = nil
  ) throws(CodedError) {
    guard let nodes, !nodes.isEmpty, let block else { return }
    guard !block.names.isEmpty else { return try renderer.render(nodes, in: scope) }
    let values = values ?? (block.names.count == 1 ? [scope.value] : [])
    try renderer.render(nodes, in: TemplateScope(names: Array(zip(block.names, values)), in: scope))
  }

  private func choose(_ isTrue: Bool) throws(CodedError) -> TemplateValue? {
    try render(isTrue ? block?.body : block?.inverse, in: scope)
    return nil
  }

  /// Chooses a body, or returns the result in a tag.
  private func condition(_ isTrue: Bool) throws(CodedError) -> TemplateValue? {
    block != nil ? try choose(isTrue) : option(isTrue ? "yes" : "no") ?? .bool(isTrue)
  }

  /// What the block prints, or the text of a value in a tag.
  private func content(or value: TemplateValue? = .string("")) throws(CodedError) -> String {
    guard let block else { return try text(value, "a text") }
    return try renderer.capture { () throws(CodedError) in try render(block.body, in: scope) }
  }

  private func each() throws(CodedError) -> TemplateValue? {
    var isEmpty = true
    switch context {
    case .list(let list)?:
      let base = try optionalInt("base") ?? 0
      for (index, element) in list.elements.enumerated() {
        try renderer.step()
        isEmpty = false
        let pass = TemplateScope.Pass.element(
          index: base &+ index, base: base, isLast: index == list.elements.count - 1)
        try render(block?.body, in: TemplateScope(element, in: scope, pass: pass), [element, .int(base &+ index)])
      }
    case .map(let map)?:
      for (index, member) in map.members.enumerated() {
        try renderer.step()
        isEmpty = false
        let pass = TemplateScope.Pass.member(key: member.name, index: index, isLast: index == map.members.count - 1)
        try render(
          block?.body, in: TemplateScope(member.value, in: scope, pass: pass), [member.value, .string(member.name)])
      }
    default: break
    }
    if isEmpty { try render(block?.inverse, in: scope) }
    return nil
  }

  // MARK: Conditions

  /// Less than, equal to or greater than zero.
  private func compared() throws(CodedError) -> Int {
    let (left, right) = (context?.present, param(0))
    if let left = left?.string, let right = right?.string {
      return left.utf16.lexicographicallyPrecedes(right.utf16) ? -1 : left.hasSameBytes(as: right) ? 0 : 1
    }
    if let left = left?.number, let right = right?.number { return left < right ? -1 : left > right ? 1 : 0 }
    if case .date(let left)? = left, case .date(let right)? = right {
      return left.milliseconds < right.milliseconds ? -1 : left.milliseconds > right.milliseconds ? 1 : 0
    }
    if case .bool(let left)? = left, case .bool(let right)? = right { return left == right ? 0 : left ? 1 : -1 }
    throw failure("'\(name)' compares two numbers or two texts, not \(shown(left)) and \(shown(right))")
  }

  private func search(isPattern: Bool) throws(CodedError) -> TemplateValue? {
    guard !params.isEmpty else {
      return error(
        isPattern
          ? "You must specify the string to be matched and the regular expression"
          : "You must specify the string or array to be matched and the regular expression")
    }
    let isFound: Bool
    if isPattern {
      let source = try text(param(0), "a regular expression")
      guard let pattern = try? Pattern("\\A(?:\(source))\\z") else {
        throw failure("'matches': '\(source.prefix(80))' is not a valid regular expression")
      }
      let text = try text("a text")
      isFound = text.isEmpty ? pattern.matchesEmptyText : !(try groups(of: pattern, in: text)).isEmpty
    } else if let context = context?.present, let part = param(0) {
      if case .list(let list) = context {
        isFound = list.elements.contains(part)
      } else {
        let part = try text(part, "a text")
        isFound = try text("a text").contains(part) || part.isEmpty
      }
    } else {
      return .bool(false)
    }
    guard block != nil else { return .bool(isFound) }
    // WireMock ignores `else` here.
    return isFound ? try choose(true) : nil
  }

  private func groups(of pattern: Pattern, in text: String) throws(CodedError) -> [[Range<Int>?]] {
    do {
      return try pattern.groups(in: Array(text.utf8), renderer.patternBudget)
    } catch {
      throw failure("\(error)")
    }
  }

  private func regexExtract() throws(CodedError) -> TemplateValue? {
    let source = try text(param(0), "a regular expression")
    guard let pattern = try? Pattern(source) else { return error("Invalid regex string \(source)") }
    let text = try text("a text")
    let bytes = Array(text.utf8)
    let matches = try groups(of: pattern, in: text)
    let values: (Range<Int>?) -> TemplateValue = {
      $0.map { .string(String(decoding: bytes[$0], as: UTF8.self)) } ?? .null
    }
    if params.count == 1, let first = matches.first { return values(first[0]) }
    let found = matches.flatMap { $0.dropFirst().map(values) }
    guard !found.isEmpty, params.count > 1 else { return option("default") ?? error("Nothing matched \(source)") }
    renderer.store(.list(TemplateList(found, .first)), as: try self.text(param(1), "the name of a variable"))
    return nil
  }

  // MARK: Texts

  private func changed(_ text: String, by helper: TemplateHelper) throws(CodedError) -> String {
    switch helper {
    case .capitalizeFirst: return text.prefix(1).uppercased() + text.dropFirst()
    case .capitalize:
      var isAtStart = true
      return String(
        (isOn("fully") ? text.lowercased() : text).flatMap { character -> [Character] in
          defer { isAtStart = character.isJavaWhitespace }
          return isAtStart ? Array(character.uppercased()) : [character]
        })
    case .lower: return text.lowercased()
    case .upper: return text.uppercased()
    case .center, .ljust, .rjust:
      let padding = try int(option("size"), "'size'") - text.utf16.count
      guard padding > 0 else { return text }
      try renderer.spend(padding)
      let pad = try optional(option("pad"), "'pad'") ?? " "
      let left = helper == .center ? padding / 2 : helper == .rjust ? padding : 0
      return pad.repeated(left) + text + pad.repeated(padding - left)
    case .replace:
      return try replaced(
        text, try self.text(param(0), "the text to replace"), by: try self.text(param(1), "the new text"))
    case .slugify:
      return String(
        text.javaTrimmed.compactMap { $0.isLetter ? $0.lowercased() : $0.isJavaWhitespace ? "-" : nil }.joined())
    case .stringFormat:
      switch javaFormat(text, params, limit: Template.Limit.output) {
      case .success(let result):
        try renderer.spend(result.utf8.count)
        return result
      case .failure(let problem): throw failure("'stringFormat': \(problem.text)")
      }
    case .stripTags: return text.replacing(/<[^>]*>/, with: "")
    case .substring:
      let units = Array(text.utf16)
      let start = try int(param(0), "the start")
      let end = param(1) == nil ? units.count : try int(param(1), "the end")
      guard 0...units.count ~= end, 0...end ~= start else {
        throw failure("'substring': \(start) to \(end) is not in the text, which has \(units.count) characters")
      }
      return String(decoding: units[start..<end], as: UTF16.self)
    case .wordWrap: return text.wrapped(at: max(1, try int(param(0), "the length")))
    default:
      let width = try int(param(0), "the width")
      guard width > 3 else { throw failure("'abbreviate': the width has to be at least 4") }
      return text.utf16.count <= width
        ? text : String(decoding: Array(text.utf16.prefix(width - 3)), as: UTF16.self) + "..."
    }
  }

  private func replaced(_ text: String, _ target: String, by replacement: String) throws(CodedError) -> String {
    let count = target.isEmpty ? text.unicodeScalars.count + 1 : text.utf8.count / target.utf8.count
    let (growth, overflows) = count.multipliedReportingOverflow(by: replacement.utf8.count)
    // Most replacements are rare; only count when they could be too many.
    if overflows || growth > Template.Limit.output {
      try renderer.spend((target.isEmpty ? count : text.ranges(of: target).count) * max(1, replacement.utf8.count))
    }
    guard target.isEmpty else { return text.replacing(target, with: replacement) }
    return replacement + text.unicodeScalars.map { String($0) + replacement }.joined()
  }

  private func join() throws(CodedError) -> TemplateValue? {
    guard let context, !context.isEmpty else { return .string("") }
    guard let separator = param(params.count - 1)?.string else {
      throw failure("'join' needs a separator as its last parameter")
    }
    var values = [context] + params.dropLast().map { $0 ?? .null }
    if case .list(let list) = context { values = list.elements }
    return .string(try joined(values, separator))
  }

  private func joined(_ values: [TemplateValue], _ separator: String) throws(CodedError) -> String {
    try renderer.spend(separator.utf8.count.multipliedReportingOverflow(by: values.count).partialValue)
    var output = try optional(option("prefix"), "'prefix'") ?? ""
    for (index, value) in values.enumerated() {
      if index > 0 { output += separator }
      if value.present != nil { output += try text(value, "a value") }
    }
    return output + (try optional(option("suffix"), "'suffix'") ?? "")
  }

  private func arrayJoin() throws(CodedError) -> TemplateValue? {
    guard let separator = context?.string else { return error("Separator parameter must be a String") }
    guard let first = param(0) else { return error("The parameter must be list") }
    var values = params.map { $0 ?? .null }
    if case .list(let list) = first { values = list.elements }
    guard !values.isEmpty else { return .string("") }
    guard let block else { return .string(try joined(values, separator)) }
    var texts: [TemplateValue] = []
    for value in values {
      try renderer.step()
      let inner = TemplateScope(value, in: scope)
      texts.append(.string(try renderer.capture { () throws(CodedError) in try render(block.body, in: inner) }))
    }
    return .string(try joined(texts, separator))
  }

  private func numberFormat() throws(CodedError) -> TemplateValue? {
    guard let context, let decimal = context.decimal else { return param(0).map { .string($0.text) } }
    if let locale = param(1)?.text, !locale.hasPrefix("en") {
      throw failure("'numberFormat' knows the locale 'en_US' only, not '\(locale)'")
    }
    let pattern = param(0)?.text
    guard var format = JavaNumberFormat(pattern) else {
      throw failure("'numberFormat': '\(pattern ?? "")' is not a pattern")
    }
    func digits(_ name: String) throws(CodedError) -> Int? {
      try optionalInt(name).map { min(max($0, 0), 340) }
    }
    if case .bool(false)? = option("groupingUsed") { format.grouping = 0 }
    if let most = try digits("maximumFractionDigits") {
      format.maximumFraction = most
      format.minimumFraction = min(format.minimumFraction, most)
    }
    if let most = try digits("maximumIntegerDigits") {
      format.maximumInteger = most
      format.minimumInteger = min(format.minimumInteger, most)
    }
    if let least = try digits("minimumFractionDigits") {
      format.minimumFraction = least
      format.maximumFraction = max(format.maximumFraction, least)
    }
    if let least = try digits("minimumIntegerDigits") { format.minimumInteger = least }
    if let mode = option("roundingMode")?.text.javaTrimmed.uppercased() {
      guard let rounding = JavaNumberFormat.Rounding(rawValue: mode) else {
        throw failure(
          "'numberFormat': '\(mode)' is no rounding mode; use HALF_UP, HALF_EVEN, UP, DOWN, CEILING or FLOOR")
      }
      format.rounding = rounding
    }
    // Java rounds the exact value of a double.
    if case .double(let value) = context, value.magnitude < 1e17 {
      return .string(format.text(String(format: "%.60f", value)))
    }
    return .string(format.text(decimal.plainText))
  }

  private func base64() throws(CodedError) -> String {
    let value = try content(or: context)
    guard isOn("decode") else {
      let encoded = Base64.encode(Array(value.utf8))
      let hasPadding = option("padding") == nil || isOn("padding")
      return hasPadding ? encoded : String(encoded.trimmingSuffix { $0 == "=" })
    }
    guard let bytes = Base64.decode(value) else { throw failure("'base64': \(shown(.string(value))) is not Base64") }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Dates

  private func date(isNow: Bool) throws(CodedError) -> TemplateValue {
    let now = Int(clamping: (renderer.context.now.timeIntervalSince1970 * 1000).rounded(.down))
    var date = TemplateDate(now, defaultZone: renderer.context.timeZone)
    if !isNow, case .date(let given)? = context {
      date = given
    } else if let name = option("timezone")?.text {
      guard let zone = TimeZone(java: name) else {
        throw failure("'\(name)' is not a time zone; use a name such as 'Europe/London' or 'GMT+1'")
      }
      date.zone = zone
    }
    if let offset = option("offset")?.text { date.milliseconds = try shifted(date.milliseconds, by: offset) }
    if let format = option("format")?.text {
      date.format = try pattern(format)
    } else {
      date.format = nil
    }
    return .date(date)
  }

  private func pattern(_ text: String, isJavaTime: Bool = false) throws(CodedError) -> JavaDatePattern {
    if !isJavaTime, text == "epoch" || text == "unix" { return .number(text) }
    do { return try JavaDatePattern(text, isJavaTime: isJavaTime) } catch { throw failure(error.problem) }
  }

  /// Adds an offset such as `3 days` or `now -1 months`.
  private func shifted(_ milliseconds: Int, by offset: String) throws(CodedError) -> Int {
    if offset.lowercased() == "now" { return milliseconds }
    let parts = offset.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard 2...3 ~= parts.count, let amount = Int32(parts[parts.count - 2]).map(Int.init) else {
      throw failure("'\(offset)' is not an offset; write '3 days' or 'now -1 months'")
    }
    var fields = JavaDateFields(milliseconds, in: .gmt)
    var result = milliseconds
    switch parts[parts.count - 1].lowercased() {
    case "seconds": result += amount * 1000
    case "minutes": result += amount * 60_000
    case "hours": result += amount * 3_600_000
    case "days": result += amount * 86_400_000
    case "months", "years":
      fields.add(months: parts[parts.count - 1].lowercased() == "months" ? amount : amount * 12)
      result = abs(fields.year) > JavaDateFields.lastYear ? .max : fields.milliseconds
    default:
      throw failure(
        "'\(parts[parts.count - 1])' is not a unit of time; use seconds, minutes, hours, days, months or years")
    }
    guard result.magnitude <= UInt(Self.lastInstant) else {
      throw failure("the date with the offset '\(offset)' is too far away")
    }
    return result
  }

  /// Within the years of `JavaDateFields.lastYear`.
  private static let lastInstant = 6_000_000_000_000_000

  private func parseDate() throws(CodedError) -> TemplateValue? {
    let text = try text("a date")
    let parsed: (milliseconds: Int, zone: TimeZone?)?
    switch option("format")?.text {
    case let format? where ["unix", "epoch"].contains(format.lowercased()):
      let factor = format.lowercased() == "unix" ? 1000 : 1
      guard let number = Int(text), number.magnitude <= UInt(Self.lastInstant / factor) else {
        throw failure(
          "'parseDate': '\(text.prefix(80))' is not a number of \(factor == 1 ? "milliseconds" : "seconds")")
      }
      parsed = (number * factor, nil)
    case let format?: parsed = try pattern(format, isJavaTime: true).parse(text)
    case nil: parsed = JavaDatePattern.parseInstant(text)
    }
    return parsed.map { .date(TemplateDate($0.milliseconds, zone: $0.zone, defaultZone: renderer.context.timeZone)) }
  }

  private func truncateDate() throws(CodedError) -> TemplateValue {
    guard let kind = param(0)?.text else {
      return error("Truncation type must be specified as the first parameter to truncateDate")
    }
    guard case .date(var date)? = context else {
      return error("A date object must be passed to the truncateDate helper")
    }
    let zone = date.zone ?? date.defaultZone
    var fields = JavaDateFields(date.milliseconds, in: zone)
    let name = kind.lowercased().replacing("_", with: " ")
    fields.millisecond = 0
    fields.second = 0
    switch name {
    case "first second of minute": break
    case "first minute of hour": fields.minute = 0
    default: (fields.hour, fields.minute) = (0, 0)
    }
    switch name {
    case "first second of minute", "first minute of hour", "first hour of day": break
    case "first day of month": fields.day = 1
    case "first day of next month":
      fields.day = 1
      fields.add(months: 1)
    case "last day of month": fields.day = RFC3339.daysIn(month: fields.month, year: fields.year)
    case "first day of year": (fields.month, fields.day) = (1, 1)
    case "first day of next year": (fields.year, fields.month, fields.day) = (fields.year + 1, 1, 1)
    case "last day of year": (fields.month, fields.day) = (12, 31)
    default:
      throw failure("'\(kind.prefix(80))' is not a truncation; use 'first day of month', 'first hour of day' or others")
    }
    date.milliseconds = fields.milliseconds(in: zone)
    date.zone = zone
    date.format = nil
    return .date(date)
  }

  private func dateFormat() throws(CodedError) -> String {
    guard case .date(let date)? = context else {
      throw failure("'dateFormat' needs a date, not \(shown(context)); use 'parseDate'")
    }
    let dates = ["full": "EEEE, MMMM d, y", "long": "MMMM d, y", "medium": "MMM d, y", "short": "M/d/yy"]
    let times = ["full": "h:mm:ss a zzzz", "long": "h:mm:ss a z", "medium": "h:mm:ss a", "short": "h:mm a"]
    let given = param(0)?.text ?? option("format")?.text ?? "medium"
    var format = given
    if let style = dates[given] {
      format = style
      if let time = option("time").flatMap({ times[$0.text] }) {
        format += (["full", "long"].contains(given) ? " 'at' " : ", ") + time
      }
    }
    if let locale = param(1)?.text ?? option("locale")?.text, !locale.hasPrefix("en") {
      throw failure("'dateFormat' knows the locale 'en_US' only, not '\(locale)'")
    }
    // As in Java, an unknown name means GMT.
    let zone = option("tz").map { TimeZone(java: $0.text) ?? .gmt } ?? renderer.context.timeZone
    return try pattern(format, isJavaTime: true).text(date.milliseconds, in: zone, isJavaTime: true)
  }

  // MARK: Random values

  /// A random number below a bound; the bound 0 stands for 2 to the power of 64.
  private func draw(_ bound: UInt64, for use: TemplateRandom) -> UInt64 {
    let bytes = renderer.context.random(use, 8)
    let number = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    return bound == 0 ? number : number.multipliedFullWidth(by: bound).high
  }

  private func randomValue() throws(CodedError) -> TemplateValue {
    let type = option("type")?.text ?? "ALPHANUMERIC"
    let length = try optionalInt("length") ?? 36
    guard length >= 0 else { throw failure("'randomValue': 'length' has to be positive") }
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    let alphabet: [UInt8] =
      switch type {
      case "ALPHANUMERIC": Array((letters + "0123456789").utf8)
      case "ALPHABETIC": Array(letters.utf8)
      case "NUMERIC": Array("0123456789".utf8)
      case "ALPHANUMERIC_AND_SYMBOLS": Array(33..<126)
      case "HEXADECIMAL": Array("ABCDEF0123456789".utf8)
      default: Array(32..<127)
      }
    let text: String
    if type == "UUID" {
      var bytes = renderer.context.random(.value(type: type), 16).prefix(16) + []
      bytes += Array(repeating: 0, count: 16 - bytes.count)
      bytes[6] = bytes[6] & 0x0F | 0x40
      bytes[8] = bytes[8] & 0x3F | 0x80
      let digits = bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
      text = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(Array(digits)[$0]) }.joined(separator: "-")
    } else {
      try renderer.spend(length)
      let bytes = renderer.context.random(.value(type: type), 4 * length)
      text = String(
        decoding: (0..<min(length, bytes.count / 4)).map { index in
          let number = bytes[4 * index..<4 * index + 4].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
          return alphabet[Int((number * UInt64(alphabet.count)) >> 32)]
        }, as: UTF8.self)
    }
    return .string(isOn("uppercase") ? text.uppercased() : text.lowercased())
  }

  // MARK: Data

  private func jsonPath() throws(CodedError) -> TemplateValue? {
    guard let context = context?.present else { return .string("") }
    guard let path = param(0)?.text else { return error("The JSONPath cannot be empty") }
    let json: JSON
    if let text = context.string {
      guard !text.isEmpty else { throw failure("'jsonPath' needs JSON, and the text is empty") }
      // WireMock takes any text that does not begin like a container for a string.
      let isBare = !["{", "["].contains(text.javaTrimmed.prefix(1))
      guard let parsed = renderer.json(text) ?? (isBare ? .string(text) : nil) else {
        return error("\(text) is not valid JSON")
      }
      json = parsed
    } else {
      json = context.json
    }
    guard let results = try? renderer.context.jsonPath(json, path) else {
      return error("\(path) is not a valid JSONPath expression")
    }
    let found: JSON = path.isDefiniteJSONPath ? results.first ?? .null : .array(results)
    guard found != .null else { return option("default") ?? .string("") }
    let value = TemplateValue(found, isFromPath: true)
    guard case .map(var map) = value else { return value }
    map.isFromPath = true
    return .map(map)
  }

  private func xPath(prefix: String) throws(CodedError) -> TemplateValue? {
    let xml = try renderer.text(of: context ?? .null, at: expression.offset)
    guard let path = param(0)?.text else { return error("The XPath expression cannot be empty") }
    let elements: [TemplateElement]?
    do { elements = try renderer.context.xPath(xml, prefix + path) } catch {
      return self.error("\(path) is not a valid XPath expression")
    }
    guard let elements else { return error("\(xml) is not valid XML") }
    return elements.isEmpty ? .string("") : .list(TemplateList(elements.map { .element($0) }, .first))
  }

  private func formData() throws(CodedError) -> TemplateValue? {
    let pairs = try text("a form").split(separator: "&").compactMap { field -> (String, String)? in
      let parts = field.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      // Java's `split` drops empty parts at the end.
      guard parts.count > 1, parts[1...].contains(where: { !$0.isEmpty }) else { return nil }
      let value = parts[1].javaTrimmed
      return (parts[0], isOn("urlDecode") ? value.percentDecoded(plusIsSpace: true) : value)
    }
    let form = TemplateValue.grouped(pairs)
    guard let variable = param(0) else { return form }
    renderer.store(form, as: variable.text)
    return nil
  }

  private func parseJSON() throws(CodedError) -> TemplateValue? {
    let empty = TemplateValue.map(TemplateMap([]))
    guard let context = context?.present else { return empty }
    if block == nil, !hasParams { return error("Missing required JSON string parameter") }
    let variable = block != nil ? (hasParams ? context : nil) : param(0)
    let text = try block != nil ? content() : self.text("JSON")
    let compact = text.filter { !$0.isWhitespace }
    guard !compact.isEmpty, compact != "{}" else { return empty }
    let json: JSON
    do { json = try JSON.parse(Array(text.utf8)) } catch {
      throw failure("'parseJson': the text is not JSON: \(error)")
    }
    switch json {
    case .array, .object: break
    default: throw failure("'parseJson' needs an object or an array, not \(shown(.string(text)))")
    }
    let value = TemplateValue(json)
    guard let variable else { return value }
    renderer.store(value, as: variable.text)
    return nil
  }

  private func math() throws(CodedError) -> TemplateValue? {
    guard params.count == 2 else {
      return error("All maths functions require two operands and an operator as parameters e.g. 3 '+' 2")
    }
    func number(_ value: TemplateValue?) throws(CodedError) -> JavaDecimal {
      guard let value = value?.present else { throw failure("'math' needs two numbers; one of them has no value") }
      return value.decimal ?? JavaDecimal(value.text) ?? JavaDecimal(0, scale: 0)
    }
    let (left, right) = (try number(context), try number(params[1]))
    let operation = try text(params[0], "an operator")
    guard ["+", "-", "*", "x", "/", "%"].contains(operation) else {
      return error("\(operation) is not a valid mathematical operator")
    }
    guard let result = left.applying(operation, right) else {
      throw failure(
        "/%".contains(operation) && right.unscaled == 0
          ? "'math' divides by zero" : "'math': the result has too many digits")
    }
    return result.scale == 0
      ? Int(exactly: result.unscaled).map { .int($0) } ?? .decimal(result) : .double(result.double)
  }

  private func arrayChanged(isAdding: Bool) throws(CodedError) -> TemplateValue? {
    guard let context = context?.present else { return .list(TemplateList([])) }
    guard case .list(let list) = context else { throw failure("'\(name)' needs a list, not \(shown(context))") }
    guard !isAdding || !params.isEmpty else {
      return error("Missing required parameter: additional value to add to list")
    }
    let end = isAdding ? list.elements.count : list.elements.count - 1
    var position = end
    switch option("position")?.text.lowercased() {
    case nil, "end": break
    case "start": position = 0
    case let text?:
      guard let number = Int(text) else { return error("position must be 'start', 'end' or an integer") }
      position = number
    }
    guard 0...max(end, 0) ~= position else {
      return error("position must be greater than or equal to 0 and less than or equal to the size of the list")
    }
    var elements = list.elements
    if isAdding {
      elements.insert(params[0] ?? .null, at: position)
    } else if !elements.isEmpty {
      elements.remove(at: position)
    }
    return try self.list(elements)
  }
}

extension TemplateValue {
  /// The integer of a number, or of a text that is one.
  fileprivate var coercedInt: Int? {
    string.map { Int32($0).map(Int.init) } ?? number.map { Int(clamping: $0) }
  }
}

extension Int {
  /// The nearest integer towards zero.
  fileprivate init(clamping value: Double) {
    self = value.isNaN ? 0 : Int(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
  }
}

extension String {
  /// Whether a JSONPath selects at most one value: without wildcards, slices, filters and descendants.
  fileprivate var isDefiniteJSONPath: Bool {
    var quote: Character?
    var isInBrackets = false
    var last: Character?
    for character in self {
      defer { last = character }
      if let open = quote {
        if character == open, last != "\\" { quote = nil }
        continue
      }
      switch character {
      case "'", "\"": quote = character
      case "[": isInBrackets = true
      case "]": isInBrackets = false
      case "*", "?": return false
      case ":", ",": if isInBrackets { return false }
      case ".": if last == "." { return false }
      default: break
      }
    }
    return true
  }

  /// Encoded as in a form, like Java's `URLEncoder`.
  fileprivate func formEncoded(isLatin: Bool) -> String {
    var output: [UInt8] = []
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in isLatin ? unicodeScalars.map({ UInt8(exactly: $0.value) ?? UInt8(ascii: "?") }) : Array(utf8) {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "*"),
        UInt8(ascii: "_"):
        output.append(byte)
      case 0x20: output.append(UInt8(ascii: "+"))
      default: output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// Repeated and cut to a length.
  fileprivate func repeated(_ length: Int) -> String {
    let units = Array((isEmpty ? " " : self).utf16)
    return String(decoding: (0..<length).map { units[$0 % units.count] }, as: UTF16.self)
  }

  /// With line breaks in place of the last spaces before a width; longer words stay whole.
  fileprivate func wrapped(at width: Int) -> String {
    let units = Array(utf16)
    let width = min(width, units.count)
    var output: [UInt16] = []
    var start = 0
    while start < units.count {
      if units[start] == 0x20 {
        start += 1
        continue
      }
      guard units.count - start > width else { break }
      let space: UInt16 = 0x20
      guard
        let end = units[start...start + width].lastIndex(of: space) ?? units[(start + width)...].firstIndex(of: space)
      else { break }
      output += units[start..<end] + [0x0A]
      start = end + 1
    }
    return String(decoding: output + units[min(start, units.count)...], as: UTF16.self)
  }
}
