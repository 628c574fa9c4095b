import Basics
import Foundation

/// A decimal number with up to 38 digits, as Java's `BigDecimal`: 1.50 keeps its two fractional digits.
package struct JavaDecimal: Sendable {
  /// The digits without a point.
  let unscaled: Int128
  /// How many of the digits are behind the point; negative for trailing zeros that are not written.
  let scale: Int

  init(_ unscaled: Int128, scale: Int) {
    self.unscaled = unscaled
    self.scale = scale
  }

  /// Reads `-1.50` or `1.5e10`; nil for anything else, and for too many digits.
  package init?(_ text: String) {
    let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    guard let mantissa = parts.first, !mantissa.isEmpty, let exponent = parts.count > 1 ? Int(parts[1]) : 0,
      abs(exponent) < 10_000
    else { return nil }
    let pieces = mantissa.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let fraction = pieces.count > 1 ? pieces[1] : ""
    guard fraction.allSatisfy({ $0.isASCII && $0.isNumber }), let value = Int128(pieces[0] + fraction) else {
      return nil
    }
    self.init(value, scale: fraction.count - exponent)
  }

  /// The number that Java's `BigDecimal.valueOf` makes.
  init?(_ value: Double) { self.init(value.javaText) }

  var double: Double { Double("\(unscaled)e\(-scale)") ?? .nan }

  /// As Java prints it: with an exponent if it would begin with many zeros.
  var text: String {
    let digits = String(unscaled.magnitude)
    let exponent = digits.count - 1 - scale
    guard scale < 0 || exponent < -6 else { return plainText }
    let sign = unscaled < 0 ? "-" : ""
    let fraction = digits.dropFirst()
    return sign + digits.prefix(1) + (fraction.isEmpty ? "" : ".") + fraction + "E" + (exponent < 0 ? "" : "+")
      + String(exponent)
  }

  /// Without an exponent.
  var plainText: String {
    var digits = String(unscaled.magnitude)
    if scale > 0 {
      digits = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
      digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -scale))
    } else if unscaled != 0 {
      digits += String(repeating: "0", count: -scale)
    }
    return (unscaled < 0 ? "-" : "") + digits
  }

  // MARK: Arithmetic; nil if the result has too many digits

  /// The result of `+`, `-`, `*`, `x`, `/` or `%`; nil also for a division by zero.
  func applying(_ operation: String, _ other: JavaDecimal) -> JavaDecimal? {
    switch operation {
    case "*", "x":
      let (product, overflows) = unscaled.multipliedReportingOverflow(by: other.unscaled)
      return overflows ? nil : JavaDecimal(product, scale: scale + other.scale)
    case "/":
      // Java's divide(right, HALF_UP) keeps the scale of the left number.
      guard other.unscaled != 0, let dividend = rescaled(scale + max(other.scale, 0))?.unscaled,
        let divisor = other.rescaled(other.scale + max(-other.scale, 0))?.unscaled
      else { return nil }
      var (quotient, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
      if rest.magnitude >= divisor.magnitude - rest.magnitude {
        quotient += (dividend < 0) == (divisor < 0) ? 1 : -1
      }
      return JavaDecimal(quotient, scale: scale)
    default:
      let common = max(scale, other.scale)
      guard let left = rescaled(common)?.unscaled, let right = other.rescaled(common)?.unscaled else { return nil }
      if operation == "%" {
        guard right != 0 else { return nil }
        var (quotient, rest) = left.quotientAndRemainder(dividingBy: right)
        // Java's scale is that of left - quotient * right, where the quotient has no zeros at its end.
        var quotientScale = max(0, scale - other.scale)
        while quotientScale > scale - other.scale, quotient % 10 == 0 {
          (quotient, quotientScale) = (quotient / 10, quotientScale - 1)
        }
        let target = max(scale, quotientScale + other.scale)
        for _ in 0..<max(0, common - target) { rest /= 10 }
        return JavaDecimal(rest, scale: min(target, common))
      }
      let (sum, overflows) =
        operation == "+" ? left.addingReportingOverflow(right) : left.subtractingReportingOverflow(right)
      return overflows ? nil : JavaDecimal(sum, scale: common)
    }
  }

  private func rescaled(_ scale: Int) -> JavaDecimal? {
    guard unscaled != 0 else { return JavaDecimal(0, scale: scale) }
    guard scale - self.scale <= 38 else { return nil }
    var value = unscaled
    for _ in 0..<max(0, scale - self.scale) {
      let (product, overflows) = value.multipliedReportingOverflow(by: 10)
      guard !overflows else { return nil }
      value = product
    }
    return JavaDecimal(value, scale: scale)
  }
}

extension Double {
  /// The digits as Java's `Double.toString` writes them: 1.0, 1.0E7, 1.0E-4.
  var javaText: String {
    guard isFinite else { return isNaN ? "NaN" : self < 0 ? "-Infinity" : "Infinity" }
    guard self != 0 else { return sign == .minus ? "-0.0" : "0.0" }
    // Swift's digits are the shortest, too.
    guard let decimal = JavaDecimal(description) else { return description }
    let digits = String(decimal.unscaled.magnitude).trimmingSuffix { $0 == "0" }
    let exponent = String(decimal.unscaled.magnitude).count - 1 - decimal.scale
    let sign = self < 0 ? "-" : ""
    guard 1e-3 <= magnitude, magnitude < 1e7 else {
      let fraction = digits.dropFirst()
      return "\(sign)\(digits.prefix(1)).\(fraction.isEmpty ? "0" : fraction)E\(exponent)"
    }
    guard exponent >= 0 else { return "\(sign)0.\(String(repeating: "0", count: -exponent - 1))\(digits)" }
    let whole = String(digits.prefix(exponent + 1))
    let fraction = digits.dropFirst(exponent + 1)
    let zeros = String(repeating: "0", count: exponent + 1 - whole.count)
    return "\(sign)\(whole)\(zeros).\(fraction.isEmpty ? "0" : fraction)"
  }
}

/// Formats numbers like Java's `DecimalFormat` in the locale en_US.
struct JavaNumberFormat {
  enum Rounding: String {
    case up = "UP", down = "DOWN", ceiling = "CEILING", floor = "FLOOR"
    case halfUp = "HALF_UP", halfDown = "HALF_DOWN", halfEven = "HALF_EVEN"
  }

  var prefix = ""
  var suffix = ""
  var negativePrefix = "-"
  var grouping = 3
  var minimumInteger = 1
  var maximumInteger = Int.max
  var minimumFraction = 0
  var maximumFraction = 3
  /// The power of ten by which the number is multiplied: 2 for percent.
  var shift = 0
  var rounding = Rounding.halfEven

  /// A style, `integer`, `currency` or `percent`, or a pattern such as `#,##0.00`; nil if it is invalid.
  init?(_ pattern: String?) {
    switch pattern?.javaTrimmed.lowercased() {
    case nil, "default": return
    case "integer": maximumFraction = 0
    case "currency": (prefix, negativePrefix, minimumFraction, maximumFraction) = ("$", "-$", 2, 2)
    case "percent": (suffix, shift, maximumFraction) = ("%", 2, 0)
    default:
      let positive = (pattern ?? "").prefix { $0 != ";" }
      let isDigit: (Character) -> Bool = { "#0,.".contains($0) }
      guard let first = positive.firstIndex(where: isDigit), let last = positive.lastIndex(where: isDigit) else {
        return nil
      }
      let digits = positive[first...last]
      guard digits.allSatisfy(isDigit), digits.count(where: { $0 == "." }) <= 1 else { return nil }
      prefix = String(positive[..<first].replacing("'", with: ""))
      suffix = String(positive[positive.index(after: last)...].replacing("'", with: ""))
      negativePrefix = "-" + prefix
      shift = (prefix + suffix).contains("%") ? 2 : (prefix + suffix).contains("\u{2030}") ? 3 : 0
      let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
      grouping = parts[0].lastIndex(of: ",").map { parts[0].distance(from: $0, to: parts[0].endIndex) - 1 } ?? 0
      minimumInteger = parts[0].count { $0 == "0" }
      minimumFraction = parts.count > 1 ? parts[1].count { $0 == "0" } : 0
      maximumFraction = parts.count > 1 ? parts[1].count : 0
      // Like Java, write at least one digit if the pattern has a point and no zero.
      if parts.count > 1, minimumInteger + minimumFraction == 0 {
        if parts[0].isEmpty { minimumFraction = min(1, maximumFraction) } else { minimumInteger = 1 }
      }
    }
  }

  /// Formats a number that is written without an exponent.
  func text(_ number: String) -> String {
    let isNegative = number.hasPrefix("-")
    let parts = number.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    var digits = Array(parts[0].utf8)
    var fraction = Array((parts.count > 1 ? parts[1] : "").utf8)
    for _ in 0..<shift {
      digits.append(fraction.first ?? 0x30)
      fraction = Array(fraction.dropFirst())
    }
    let rest = fraction.dropFirst(maximumFraction)
    digits += fraction.prefix(maximumFraction)
    let scale = min(fraction.count, maximumFraction)
    if rounds(up: rest, after: digits.last ?? 0x30, isNegative) {
      var index = digits.count - 1
      while index >= 0, digits[index] == 0x39 {
        digits[index] = 0x30
        index -= 1
      }
      if index >= 0 { digits[index] += 1 } else { digits.insert(0x31, at: 0) }
    }
    let all = String(decoding: digits, as: UTF8.self)
    var integer = String(all.dropLast(scale).drop { $0 == "0" }.suffix(maximumInteger))
    var decimals = String(all.suffix(scale).trimmingSuffix { $0 == "0" })
    integer = String(repeating: "0", count: max(0, minimumInteger - integer.count)) + integer
    decimals += String(repeating: "0", count: max(0, minimumFraction - decimals.count))
    if integer.isEmpty, decimals.isEmpty { integer = "0" }
    if grouping > 0 { integer = integer.grouped(by: grouping) }
    return (isNegative ? negativePrefix : prefix) + integer + (decimals.isEmpty ? "" : "." + decimals) + suffix
  }

  /// Whether the digits before these are increased by one.
  private func rounds(up rest: ArraySlice<UInt8>, after last: UInt8, _ isNegative: Bool) -> Bool {
    guard let first = rest.first, rest.contains(where: { $0 != 0x30 }) else { return false }
    let isTie = first == 0x35 && rest.dropFirst().allSatisfy { $0 == 0x30 }
    return switch rounding {
    case .up: true
    case .down: false
    case .ceiling: !isNegative
    case .floor: isNegative
    case .halfUp: first >= 0x35
    case .halfDown: first >= 0x35 && !isTie
    case .halfEven: first >= 0x35 && (!isTie || last % 2 == 1)
    }
  }
}

/// Java's `String.format` for `%s`, `%S`, `%d`, `%f`, `%e`, `%x`, `%X`, `%o`, `%c`, `%b`, `%n` and `%%`, with flags, width,
/// precision and indices as in `%2$-8s`.
///
/// - Returns: nil, and the reason, if the format or a value is invalid.
func javaFormat(_ format: String, _ values: [TemplateValue?], limit: Int) -> Result<String, JavaFormatProblem> {
  var output = ""
  var next = 0
  var start = format.startIndex
  for match in format.matches(of: /%(?:([0-9]+)\$)?([-#+ 0,(]*)([0-9]+)?(?:\.([0-9]+))?([a-zA-Z%])/) {
    let between = format[start..<match.range.lowerBound]
    guard !between.contains("%") else { return .failure(.init(text: "'%' has no conversion; write '%%'")) }
    output += between
    start = match.range.upperBound
    let (_, position, flags, width, precision, conversion) = match.output
    let least = width.map { Int($0) ?? .max } ?? 0
    let digits = precision.map { Int($0) ?? .max }
    guard least <= limit, digits ?? 0 <= limit else { return .failure(.init(text: "'\(match.0)' is too wide")) }
    var text = ""
    if conversion == "%" || conversion == "n" {
      text = conversion == "%" ? "%" : "\n"
    } else {
      let index = position.flatMap { Int($0) }.map { $0 - 1 } ?? next
      if position == nil { next += 1 }
      guard values.indices.contains(index) else { return .failure(.init(text: "'\(match.0)' has no value")) }
      let value = values[index]
      switch (conversion.lowercased(), value) {
      case ("s", _): text = String((value?.text ?? "null").prefix(digits ?? .max))
      case ("b", _): if case .bool(let value)? = value { text = String(value) } else { text = String(value != nil) }
      case ("d", .int(let value)?): text = String(value)
      case ("d", .decimal(let value)?) where value.scale == 0: text = value.text
      case ("x", .int(let value)?):
        text = value < 0 ? String(UInt32(truncatingIfNeeded: value), radix: 16) : String(value, radix: 16)
      case ("o", .int(let value)?): text = String(value, radix: 8)
      case ("c", .int(let value)?): text = UInt32(exactly: value).flatMap(Unicode.Scalar.init).map { String($0) } ?? "?"
      case ("f", .double?), ("f", .decimal?):
        guard let decimal = value?.decimal, var style = JavaNumberFormat("0.0") else { break }
        style.minimumFraction = digits ?? 6
        style.maximumFraction = digits ?? 6
        style.rounding = .halfUp
        text = style.text(decimal.plainText)
      case ("e", .double(let value)?): text = String(format: "%.\(min(digits ?? 6, 100))e", value)
      default:
        return .failure(.init(text: "'\(match.0)' does not fit \(value.map { "'\($0.text.prefix(40))'" } ?? "null")"))
      }
      if "dfe".contains(conversion) {
        if flags.contains(","), let point = text.firstIndex(of: ".") ?? Optional(text.endIndex) {
          let sign = text.hasPrefix("-") ? "-" : ""
          text = sign + String(text[..<point].dropFirst(sign.count)).grouped(by: 3) + text[point...]
        }
        if !text.hasPrefix("-") {
          text = (flags.contains("+") ? "+" : flags.contains(" ") ? " " : "") + text
        } else if flags.contains("(") {
          text = "(" + text.dropFirst() + ")"
        }
      }
    }
    if conversion.allSatisfy(\.isUppercase) { text = text.uppercased() }
    let padding = max(0, least - text.utf16.count)
    if flags.contains("-") {
      text += String(repeating: " ", count: padding)
    } else if flags.contains("0") {
      let sign = text.prefix { "+-( ".contains($0) }
      text = sign + String(repeating: "0", count: padding) + text.dropFirst(sign.count)
    } else {
      text = String(repeating: " ", count: padding) + text
    }
    output += text
    guard output.utf8.count <= limit else { return .failure(.init(text: "the text is too long")) }
  }
  guard !format[start...].contains("%") else { return .failure(.init(text: "'%' has no conversion; write '%%'")) }
  return .success(output + format[start...])
}

/// Why `javaFormat` fails.
struct JavaFormatProblem: Error {
  var text: String
}

extension TemplateValue {
  /// The number as a decimal; nil if it is not finite, or too large.
  var decimal: JavaDecimal? {
    switch self {
    case .int(let value): JavaDecimal(Int128(value), scale: 0)
    case .double(let value): JavaDecimal(value)
    case .decimal(let value): value
    default: nil
    }
  }
}

extension String {
  /// Inserts a comma between groups of digits, from the right.
  fileprivate func grouped(by size: Int) -> String {
    var result = ""
    for (index, digit) in enumerated() {
      if index > 0, (count - index) % size == 0 { result += "," }
      result.append(digit)
    }
    return result
  }
}
