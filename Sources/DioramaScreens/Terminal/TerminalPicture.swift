/// Draws a terminal as an SVG image that needs no other file.
struct TerminalPicture {
  let cells: [[TerminalCell]]
  /// nil if the cursor is hidden.
  let cursor: TerminalPosition?

  private static let foreground = TerminalColor(red: 0xE6, green: 0xE6, blue: 0xE6)
  private static let background = TerminalColor(red: 0x1B, green: 0x1D, blue: 0x23)
  /// The size of a cell, in tenths of a pixel, so that all coordinates are exact.
  private static let width = 84
  private static let height = 180
  private static let margin = 80

  /// - Parameter label: the alternative text.
  /// - Returns: the document.
  func svg(label: String) -> String {
    let columns = cells.first?.count ?? 0
    let (width, height) = (
      columns * Self.width + 2 * Self.margin, cells.count * Self.height + 2 * Self.margin
    )
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="\(Self.escaped(label))" \
      width="\(px(width))" height="\(px(height))" viewBox="0 0 \(px(width)) \(px(height))" \
      font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace" font-size="14">
      <rect width="100%" height="100%" rx="6" fill="\(Self.background.css)"/>

      """
    for (row, cells) in cells.enumerated() {
      var column = 0
      while column < cells.count {
        let end = runEnd(cells, from: column, row)
        svg += run(cells[column..<end], row, column)
        column = end
      }
    }
    return svg + "</svg>\n"
  }

  /// The end of the cells that look alike. A character that does not take exactly one cell is a run of its own, so that the
  /// font's width of it does not matter.
  private func runEnd(_ cells: [TerminalCell], from start: Int, _ row: Int) -> Int {
    if cells[start].width == 2 { return min(start + 2, cells.count) }
    if isCursor(row, start) { return start + 1 }
    var end = start + 1
    while end < cells.count, cells[end].width == 1, !isCursor(row, end),
      cells[end].foreground == cells[start].foreground, cells[end].background == cells[start].background,
      cells[end].attributes == cells[start].attributes
    {
      end += 1
    }
    return end
  }

  private func isCursor(_ row: Int, _ column: Int) -> Bool { cursor == TerminalPosition(row: row, column: column) }

  private func run(_ cells: ArraySlice<TerminalCell>, _ row: Int, _ column: Int) -> String {
    guard let first = cells.first else { return "" }
    var (ink, paper) = (first.foreground ?? Self.foreground, first.background ?? Self.background)
    if first.attributes.contains(.reverse) != isCursor(row, column) { swap(&ink, &paper) }
    let (x, y) = (Self.margin + column * Self.width, Self.margin + row * Self.height)
    let width = cells.count * Self.width
    var svg = ""
    if paper != Self.background {
      svg += """
        <rect x="\(px(x))" y="\(px(y))" width="\(px(width))" height="\(px(Self.height))" fill="\(paper.css)"/>

        """
    }
    let text = cells.map(\.text).joined()
    // Spaces show only their underline.
    let isDecorated = !first.attributes.isDisjoint(with: [.underline, .strikethrough])
    guard isDecorated || text.contains(where: { $0 != " " }) else { return svg }
    var style = ""
    if first.attributes.contains(.bold) { style += " font-weight=\"bold\"" }
    if first.attributes.contains(.italic) { style += " font-style=\"italic\"" }
    let lines = [(TerminalCell.Attributes.underline, "underline"), (.strikethrough, "line-through")]
      .filter { first.attributes.contains($0.0) }.map(\.1)
    if !lines.isEmpty { style += " text-decoration=\"\(lines.joined(separator: " "))\"" }
    svg += """
      <text x="\(px(x))" y="\(px(y + 135))" textLength="\(px(width))" lengthAdjust="spacingAndGlyphs" \
      xml:space="preserve" fill="\(ink.css)"\(style)>\(Self.escaped(text))</text>

      """
    return svg
  }

  private func px(_ tenths: Int) -> String { tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)" }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      // XML allows no other control characters.
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
