import LaunchContract

// The partial file of a recording: the header on the first line, then an interaction a line. A line counts once its
// line feed is there, so that a file that ends anywhere loses at most the line that was being written.
extension HAR {
  /// The first line of a partial file, with its line feed.
  package static func headerLine(_ header: CassetteHeader) -> [UInt8] {
    line(.object([.init("_diorama", encode(header))]))
  }

  /// One interaction on one line, with its line feed.
  package static func line(_ interaction: Interaction) -> [UInt8] {
    line(encode(interaction))
  }

  /// Reads the first line of a partial file.
  ///
  /// - Parameters:
  ///   - line: The line, with or without its line feed.
  ///   - name: The file, for the error.
  /// - Returns: The header.
  /// - Throws: ``CassetteError`` when the line is no header, or of a newer format.
  package static func header(
    line: UnsafeRawBufferPointer, name: String = "the partial recording"
  ) throws(CassetteError) -> CassetteHeader {
    guard let header = try parse(line: line, name: name)["_diorama"] else {
      throw CassetteError(
        name: name, line: 1, column: 1, problem: "_diorama is missing", advice: "remove the file and record anew")
    }
    return try decodeHeader(header, name: name)
  }

  /// Reads one line of a partial file after the first.
  ///
  /// - Parameters:
  ///   - line: The line, with or without its line feed.
  ///   - name: The file, for the error.
  ///   - number: The interaction's number, from 1, for the error.
  /// - Returns: The interaction.
  /// - Throws: ``CassetteError`` when the line is no interaction.
  package static func interaction(
    line: UnsafeRawBufferPointer, name: String = "the partial recording", number: Int? = nil
  ) throws(CassetteError) -> Interaction {
    let decoder = EntryDecoder(name: name, number: number, author: .diorama)
    var outline = JSONIndex()
    do {
      var reader = JSONReader(line)
      try outline.read(&reader)
      try reader.end()
    } catch {
      throw CassetteError(name: name, json: error)
    }
    switch try outline.withValue(decoder.decode) {
    case .interaction(let interaction, _): return interaction
    case .skipped(let reason): throw decoder.failure("this is no interaction: \(reason)")
    }
  }

  private static func line(_ value: JSON) -> [UInt8] {
    var output: [UInt8] = []
    value.encode(into: &output, style: .compact)
    output.append(0x0A)
    return output
  }

  private static func parse(line: UnsafeRawBufferPointer, name: String) throws(CassetteError) -> JSON {
    do {
      return try JSON.parse(line)
    } catch {
      throw CassetteError(name: name, json: error)
    }
  }
}
