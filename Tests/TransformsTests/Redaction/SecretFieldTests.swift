import Basics
import HTTPMessages
import Testing

@testable import Transforms

@Suite("Secret fields")
struct SecretFieldTests {
  private static let redactor = Redactor([], token: "")
  private static let form: Headers = ["Content-Type": "application/x-www-form-urlencoded"]
  private static let json: Headers = ["Content-Type": "application/json"]
  /// `{"alg":"HS256"}.{"sub":"ann"}.` and a signature.
  private static let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"

  private static func redact(_ body: String, _ headers: Headers, isResponse: Bool = false) -> String {
    let bytes = Array(body.utf8)
    let whole = redactor.redact(decoded: bytes, of: headers, isResponse: isResponse)
    #expect(redactor.redact(decoded: whole, of: headers, isResponse: isResponse) == whole, "twice")
    for cut in 0...bytes.count {
      var stream = redactor.body(headers, isDecoded: true, isResponse: isResponse)
      #expect(
        stream.push(Array(bytes[..<cut])) + stream.push(Array(bytes[cut...])) + stream.finish() == whole, "\(cut)")
    }
    return String(decoding: whole, as: UTF8.self)
  }

  @Test(
    "are redacted in queries of request targets, and of URLs in headers",
    arguments: [
      ("/a?access_token=x&b=2", "/a?access_token=%3Credacted%3E&b=2"),
      ("/a?X-Amz-Signature=9f&X-Amz-Date=1", "/a?X-Amz-Signature=%3Credacted%3E&X-Amz-Date=1"),
      ("/a?apiKey=x&sig=a%3D&signal=1", "/a?apiKey=%3Credacted%3E&sig=%3Credacted%3E&signal=1"),
      ("/a?password=&code=1#password=x", "/a?password=&code=1#password=%3Credacted%3E"),
      ("/a?pass%77ord=x", "/a?pass%77ord=%3Credacted%3E"), ("/password=x", "/password=x"),
      ("https://h/cb#access_token=x&state=1", "https://h/cb#access_token=%3Credacted%3E&state=1"),
      ("/a?password=%3Credacted%3As%2Fa%3E", "/a?password=%3Credacted%3As%2Fa%3E"),
    ])
  func queries(url: String, redacted: String) {
    #expect(Self.redactor.redactURL(url) == redacted)
    #expect(Self.redactor.redactURL(redacted) == redacted)
    #expect(Self.redactor.redact(["Location": url]) == ["Location": redacted])
  }

  @Test(
    "are redacted in forms; those of a grant in token requests only",
    arguments: [
      ("user=ann&password=p+w&remember=1", "user=ann&password=%3Credacted%3E&remember=1"),
      (
        "client_secret=x&clientSecret=y&client_id=z",
        "client_secret=%3Credacted%3E&clientSecret=%3Credacted%3E&client_id=z"
      ),
      ("code=AB12&country=GB", "code=AB12&country=GB"),
      (
        "code=AB12&grant_type=authorization_code&code_verifier=x",
        "code=%3Credacted%3E&grant_type=authorization_code&code_verifier=%3Credacted%3E"
      ),
    ])
  func forms(body: String, redacted: String) {
    #expect(Self.redact(body, Self.form) == redacted)
  }

  @Test(
    "are redacted in JSON as strings and numbers at any depth",
    arguments: [
      (#"{"user": {"password" : "p\"w", "n": 1}}"#, #"{"user": {"password" : "<redacted>", "n": 1}}"#),
      (#"[{"refreshToken":"x","expires_in":3600}]"#, #"[{"refreshToken":"<redacted>","expires_in":3600}]"#),
      (
        #"{"\u0070assword":"x", "api-key": 12, "passwd": null}"#,
        #"{"\u0070assword":"<redacted>", "api-key": 0, "passwd": null}"#
      ),
      (#"{"password": true, "Password": ""}"#, #"{"password": true, "Password": ""}"#),
      // A schema is no secret.
      (#"{"password": {"type": "string", "minLength": 8}}"#, #"{"password": {"type": "string", "minLength": 8}}"#),
      (#"{"password": ["a"], "code": "AB12", "sig": "x"}"#, #"{"password": ["a"], "code": "AB12", "sig": "x"}"#),
      (
        #"{"grant_type": "authorization_code", "code": "AB12"}"#,
        #"{"grant_type": "authorization_code", "code": "<redacted>"}"#
      ),
      (#"{"password": "<redacted:s/a>"}"#, #"{"password": "<redacted:s/a>"}"#),
      (#"{"note": "password: x, \"password\": y"}"#, #"{"note": "password: x, \"password\": y"}"#),
    ])
  func json(body: String, redacted: String) {
    #expect(Self.redact(body, Self.json) == redacted)
    #expect(Self.redact(body, ["Content-Type": "text/plain"]) == redacted)
  }

  @Test("are redacted in multipart forms")
  func multipart() {
    let headers: Headers = ["Content-Type": "multipart/form-data; boundary=B"]
    func body(_ secret: String) -> String {
      "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\(secret)\r\n--B\r\n"
        + "Content-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--B--\r\n"
    }
    #expect(Self.redact(body("p w"), headers) == body("<redacted>"))
  }

  @Test("keep a token's claims in a response, without its signature")
  func claims() {
    let unsigned = Self.token.replacing("c2lnbmF0dXJl", with: "cmVkYWN0ZWQ")
    let body = #"{"id_token": "TOKEN", "access_token": "opaque.with.dots"}"#
    let response = Self.redact(body.replacing("TOKEN", with: Self.token), Self.json, isResponse: true)
    #expect(response == #"{"id_token": "\#(unsigned)", "access_token": "<redacted>"}"#)
    let request = Self.redact(body.replacing("TOKEN", with: Self.token), Self.json)
    #expect(request == #"{"id_token": "<redacted>", "access_token": "<redacted>"}"#)
  }

  @Test("are found in a body that is longer than what is examined at once")
  func long() {
    let filler = String(repeating: #"{"a": "b"}, "#, count: 12_000)
    let stream = { (body: String) -> String in
      var redactor = Self.redactor.body(Self.json, isDecoded: true)
      var output: [UInt8] = []
      for start in stride(from: 0, to: body.utf8.count, by: 10_000) {
        output += redactor.push(Array(body.utf8.dropFirst(start).prefix(10_000)))
      }
      output += redactor.finish()
      #expect(redactor.found.names == ["password"])
      return String(decoding: output, as: UTF8.self)
    }
    #expect(stream("[\(filler){\"password\": \"x\"}]") == "[\(filler){\"password\": \"<redacted>\"}]")
  }

  @Test("are named without their values")
  func found() {
    var stream = Self.redactor.body(Self.json, isDecoded: true)
    _ = stream.push(Array(#"{"password": "x", "z": {"api_key": "y", "password": "w"}}"#.utf8)) + stream.finish()
    #expect(stream.found.names == ["password", "api_key"])
    var query: FoundFields? = FoundFields()
    _ = Self.redactor.redactURL("/?sig=1&a=2&password=3", &query)
    #expect(query?.names == ["sig", "password"])
    var names: [String] = []
    _ = Self.redactor.redact(["X-Api-Key": "x", "Accept": "y"], ofChanged: false, length: 0, &names)
    #expect(names == ["X-Api-Key"])
  }

  @Test("stay where rules keep them, in any spelling")
  func kept() {
    var rules = CompiledRules.none
    rules.secretQuery = rules.secretQuery.subtracting(FieldNames(["apiKey"]))
    rules.secretJSON = rules.secretJSON.subtracting(FieldNames(["apiKey"]))
    let redactor = Redactor([], token: "", rules: rules)
    #expect(redactor.changesRequests)
    #expect(redactor.redactURL("/?api_key=1&sig=2") == "/?api_key=1&sig=%3Credacted%3E")
    let body = Array(#"{"api-key": "1", "password": "2"}"#.utf8)
    #expect(
      String(decoding: redactor.redact(decoded: body, of: Self.json), as: UTF8.self)
        == #"{"api-key": "1", "password": "<redacted>"}"#)
    #expect(!Self.redactor.changesRequests)
  }

  @Test("may occur only where a name, or a name with an escape, precedes a colon")
  func mayOccur() {
    let names = FieldNames(["api_key"])
    for text in [#"{"api_key":1}"#, "{\"x\": {\"apiKey\" \n: 1}}", #"{"\u0061pi_key":1}"#] {
      #expect(names.mayOccur(inJSON: Array(text.utf8)), "\(text)")
    }
    for text in ["", ":", "\":", #"{"a":"api_key"}"#, #"{"api_keys":1}"#, "api_key: 1", #"{"x":"12:30"}"#] {
      #expect(!names.mayOccur(inJSON: Array(text.utf8)), "\(text)")
    }
  }
}
