import Testing

@Suite("Multipart bodies")
struct MultipartTests {
  /// A body with the given boundary.
  private func sent(_ boundary: String, _ parts: [String], type: String? = nil, end: String = "\r\n") -> Sent {
    let body = parts.map { "--\(boundary)\(end)\($0)\(end)" }.joined() + "--\(boundary)--\(end)"
    return Sent("POST", type: type ?? "multipart/form-data; boundary=\(boundary)", body)
  }

  private let text = "Content-Disposition: form-data; name=\"t\"\r\n\r\nhello\r\n--no boundary\r\n"
  private let file =
    "Content-Disposition: form-data; name=\"f\"; filename=\"a \\\"b\\\".png\"\r\nContent-Type: image/png\r\n\r\n\u{1}\u{2}"

  @Test("are equal regardless of the boundary, by default")
  func boundary() throws {
    #expect(try areSame(sent("AaB03x", [text, file]), sent("----WebKit7MA4", [text, file])))
    let quoted = sent("q r", [text, file], type: "Multipart/Form-Data; charset=utf-8; BOUNDARY=\"q r\"")
    #expect(try areSame(quoted, sent("x", [text, file])))
    #expect(try areSame(sent("x", [text], end: "\n"), sent("y", [text])))
    let name = "content-disposition: form-data; NAME=t\r\nX-Other: 1\r\n\r\nhello\r\n--no boundary\r\n"
    #expect(try areSame(sent("x", [name]), sent("y", [text])))
  }

  @Test("differ by the name, file name, content type, content, order and number of parts")
  func differs() throws {
    let one = sent("x", [text, file])
    for (from, to) in [("name=\"f\"", "name=\"g\""), ("a \\", "c \\"), ("image/png", "image/gif"), ("\u{2}", "\u{3}")] {
      #expect(try !areSame(one, sent("y", [text, file.replacing(from, with: to)])))
    }
    #expect(try !areSame(one, sent("y", [file, text])))
    #expect(try !areSame(one, sent("y", [text])))
    #expect(try !areSame(sent("x", []), sent("y", ["\r\n"])))
  }

  @Test("have parts compared by their kind, including nested ones")
  func inside() throws {
    let json = "Content-Disposition: form-data; name=\"j\"\r\nContent-Type: application/json\r\n\r\n"
    #expect(try areSame(sent("x", [json + "{\"a\":1,\"b\":2}"]), sent("y", [json + "{\"b\":2, \"a\":1.0}"])))
    let inner = { (mark: String) in
      "Content-Type: multipart/mixed; boundary=\(mark)\r\n\r\n--\(mark)\r\n\r\nhi\r\n--\(mark)--"
    }
    #expect(try areSame(sent("x", [inner("in1")]), sent("y", [inner("in2")])))
  }

  @Test("are compared byte by byte if malformed or without a boundary")
  func broken() throws {
    let open = Sent("POST", type: "multipart/form-data; boundary=x", "--x\r\n\r\nhello")
    #expect(try areSame(open, open))
    #expect(try !areSame(open, Sent("POST", type: "multipart/form-data; boundary=y", "--y\r\n\r\nhello")))
    #expect(try areSame(Sent("POST", type: "multipart/form-data", "x"), Sent("POST", type: "multipart/form-data", "x")))
    for hostile in ["", "--", "--x", "--x--", "--x\r\n--x--", "--x\r\n\r\n\r\n--x--\r\nrest", "\n\n--x\n--x\n--x--"] {
      let sent = Sent("POST", type: "multipart/form-data; boundary=x", hostile)
      #expect(try areSame(sent, sent))
    }
  }

  @Test("may be nested to any depth")
  func deep() throws {
    var part = "Content-Type: text/plain\r\n\r\nx"
    for level in 0..<50 {
      part = "Content-Type: multipart/mixed; boundary=b\(level)\r\n\r\n--b\(level)\r\n\(part)\r\n--b\(level)--"
    }
    let sent = sent("x", [part])
    #expect(try areSame(sent, sent))
  }

  @Test("omit the parts and JSON values that a rule ignores")
  func rules() throws {
    func json(_ time: Int) -> String {
      "Content-Disposition: form-data; name=\"j\"\r\nContent-Type: application/json\r\n\r\n{\"t\": \(time)}"
    }
    func csrf(_ token: Int) -> String { "Content-Disposition: form-data; name=\"csrf\"\r\n\r\n\(token)" }
    let rule = #"{"rules": [{"ignore": {"form": ["csrf"], "json": ["$.t"]}}]}"#
    #expect(try areSame(sent("x", [csrf(1), json(1)]), sent("y", [csrf(2), json(2)]), rule))
    #expect(try areSame(sent("x", [csrf(1), json(1)]), sent("y", [json(2)]), rule))
    #expect(try !areSame(sent("x", [csrf(1)]), sent("y", [csrf(2)])))
  }

  @Test("may come in any order if a rule says so, except those of one name")
  func anyOrder() throws {
    let rule = #"{"rules": [{"compare": {"partOrder": false}}]}"#
    let other = text.replacing("hello", with: "bye")
    #expect(try areSame(sent("x", [text, file]), sent("y", [file, text]), rule))
    #expect(try areSame(sent("x", [text, other, file]), sent("y", [text, file, other]), rule))
    #expect(try !areSame(sent("x", [text, other]), sent("y", [other, text]), rule))
    #expect(try !areSame(sent("x", [text, file]), sent("y", [file, other]), rule))
    let back = #"{"rules": [{"compare": {"partOrder": false}}, {"compare": {"partOrder": true}}]}"#
    #expect(try !areSame(sent("x", [text, file]), sent("y", [file, text]), back))
    let mixed = { (parts: [String]) in
      Sent(
        "POST", type: "multipart/mixed; boundary=x",
        parts.map { "--x\r\n\r\n\($0)\r\n" }.joined() + "--x--")
    }
    #expect(try !areSame(mixed(["a", "b"]), mixed(["b", "a"]), rule), "parts without a name keep their order")
  }

  @Test("are compared by parts if a rule says so, regardless of the type")
  func asked() throws {
    let rule = #"{"rules": [{"compare": {"body": "multipart"}}]}"#
    #expect(try areSame(sent("x", [text], type: "text/plain"), sent("y", [text], type: ""), rule))
  }
}
