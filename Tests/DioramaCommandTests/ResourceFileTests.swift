import Basics
import ControlAPI
import Testing

@testable import DioramaCommand

@Suite("Files of resources")
struct ResourceFileTests {
  private static func read(_ text: String) throws(CodedError) -> [PoolResource] {
    try ResourceFile(Array(text.utf8), name: "p.csv").resources
  }

  private static let anna = PoolResource(
    name: "anna", attributes: ["plan": "premium"], secrets: ["password": "a,\"b\"\nc"])

  @Test(
    "are CSV or JSON",
    arguments: [
      "name,plan,secret:password\nanna,premium,\"a,\"\"b\"\"\nc\"\n",
      "\u{FEFF}secret:password, plan ,name\r\n\"a,\"\"b\"\"\nc\",premium,anna\r\n\r\n",
      #"[{"name": "anna", "attributes": {"plan": "premium"}, "secrets": {"password": "a,\"b\"\nc"}}]"#,
      #" {"resources": [{"name": "anna", "attributes": {"plan": "premium"}, "secrets": {"password": "a,\"b\"\nc"}}]}"#,
    ])
  func formats(text: String) throws { #expect(try Self.read(text) == [Self.anna]) }

  @Test("leave out empty fields of CSV")
  func empty() throws {
    let resources = try Self.read("name,plan,secret:pin\nanna,,\nben,free,1\r\n")
    #expect(resources.map(\.attributes) == [[:], ["plan": "free"]] && resources.map(\.secrets) == [[:], ["pin": "1"]])
  }

  @Test("tell which attributes are probably secret")
  func suspicious() throws {
    let file = try ResourceFile(Array("name,plan,Password,secret:pin\na,b,c,d\n".utf8), name: "p.csv")
    #expect(file.suspicious == ["Password"])
    #expect(file.columns.attributes == ["Password", "plan"] && file.columns.secrets == ["pin"])
  }

  @Test(
    "are refused with the line at fault",
    arguments: [
      ("", "p.csv has no resources"),
      ("name\n", "p.csv has no resources"),
      ("plan\nfree\n", "p.csv: line 1 has no column 'name'"),
      ("name,plan,plan\n", "p.csv: line 1 has the column 'plan' twice"),
      ("name,plan\nanna\n", "p.csv: line 2 has 1 fields, not 2"),
      ("name,plan\n\"a\nb\",x\nanna\n", "p.csv: line 4 has 1 fields, not 2"),
      ("name\nan\"na\n", "p.csv: line 2: a quotation mark inside of a field"),
      ("name\n\"anna\"x\n", "p.csv: line 2: text after the closing quotation mark"),
      ("name\n\"anna\n", "p.csv: line 3: a quotation mark is not closed"),
      ("name\nanna\nanna\n", "p.csv: resource 2: 'anna' is given twice"),
      ("name,pin,secret:pin\na,1,2\n", "p.csv: resource 1: 'pin' is both an attribute and a secret"),
      ("name,secret:name\na,2\n", "p.csv: resource 1: 'name' is the resource's own name"),
      ("name,plan\n,x\n", "p.csv: resource 1: its name must be a single line"),
      ("name,Secret:pin\na,2\n", "p.csv: resource 1: 'Secret:pin' would not be secret; write secret: in lower case"),
      ("name,secret: pin\na,2\n", "p.csv: resource 1: the name ' pin' is empty, or begins or ends with a space"),
      ("name\n anna\n", "p.csv: resource 1: the name ' anna' is empty, or begins or ends with a space"),
      ("Name;plan\n", "p.csv: line 1 has no column 'name', but Name;plan; begin with"),
      (#"[{"nam": "anna"}]"#, "p.csv"),
    ])
  func refused(text: String, message: String) throws {
    let error = try #require(throws: CodedError.self) { try Self.read(text) }
    #expect(error.message.contains(message), "\(error.message)")
  }
}
