import Testing

@testable import Cassettes

@Suite("Values that differ in every run")
struct ValueChangeTests {
  /// A recording at 2018-10-08T09:00:00Z, and a replay two days and three hours later.
  private static let clocks = [
    ValueChange.Readings(recorded: 1_538_989_200, actual: 1_538_989_200 + 2 * 86_400 + 3 * 3_600)
  ]

  private func kind(_ recorded: String, _ actual: String, _ name: String = "") -> ValueChange? {
    ValueChange.between(recorded, actual, named: name, by: Self.clocks)
  }

  @Test(
    "times that moved as far as the clock are instants",
    arguments: [
      ("2018-10-08T09:00:01.25Z", "2018-10-10T12:00:02Z"), ("2018-10-08T10:00:01+01:00", "2018-10-10T13:00:01+01:00"),
      ("2018-10-08T09:30:12Z", "2018-10-10T12:31:40Z"),
      ("Mon, 08 Oct 2018 09:00:03 GMT", "Wed, 10 Oct 2018 12:00:05 GMT"),
      ("2018-10-08", "2018-10-10"), ("20181008T090005Z", "20181010T120006Z"), ("20181008", "20181010"),
      ("1538989201", "1539172805"), ("1538989201123", "1539172805456"), ("1538989201123456", "1539172805456789"),
      ("1538989201123456789", "1539172805456789012"), ("1538989201.5", "1539172805.25"),
      ("AKIA1/20181008/eu-west-1/s3/aws4_request", "AKIA1/20181010/eu-west-1/s3/aws4_request"),
      ("2018-10-08 09:00:07", "2018-10-10 12:00:09"),
    ])
  func instants(recorded: String, actual: String) { #expect(kind(recorded, actual) == .instant) }

  @Test(
    "other dates and numbers are what the app asks for",
    arguments: [
      ("2018-10-08T10:00:00Z", "2018-10-08T11:00:00Z"), ("2018-10-08T09:00:01Z", "2018-11-08T12:00:00Z"),
      ("2018-10-12", "2018-10-19"), ("1990-05-01", "1985-12-24"), ("1", "2"), ("25", "50"),
      ("1538989201", "1538989202"),
      ("10:00", "10:30"), ("2018-10-08T10:00:00Z", "tomorrow"), ("1999", "2499"),
    ])
  func meaningful(recorded: String, actual: String) { #expect(kind(recorded, actual, "value") == nil) }

  @Test("no clock, no instant")
  func noClock() {
    #expect(ValueChange.between("2018-10-08T09:00:01Z", "2018-10-10T12:00:02Z", named: "at", by: []) == nil)
  }

  @Test(
    "a slot moves within minutes of a recording only if it is no whole minute",
    arguments: [
      ("2018-10-08T10:05:00Z", "2018-10-08T10:10:00Z", false), ("2018-10-08T10:05:13Z", "2018-10-08T10:10:14Z", true),
    ])
  func slots(recorded: String, actual: String, isInstant: Bool) {
    let clocks = [ValueChange.Readings(recorded: 1_538_989_200, actual: 1_538_989_230)]
    #expect((ValueChange.between(recorded, actual, named: "at", by: clocks) == .instant) == isInstant)
  }

  @Test(
    "random values, counters, signatures and marks are recognized",
    arguments: [
      ("550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "id", ValueChange.uuid),
      ("urn:uuid:550e8400-e29b-41d4-a716-446655440000", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "", .uuid),
      ("order/550e8400-e29b-41d4-a716-446655440000", "order/6ba7b810-9dad-11d1-80b4-00c04fd430c8", "", .uuid),
      ("9f86d081884c7d65", "2c26b46b68ffc68f", "x", .nonce),
      ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code", .nonce),
      ("j_ygGVYxonrKmgahI_UlCtDQzUvbicYwamOHXmUDp7Y", "UfoNJUwWa1GaFCMeBMPWC1eEjPRQvO1aRVTXinhiw74", "state", .nonce),
      ("sess-4f9k2m8x7q1w3z5b", "sess-a8d7f6g5h4j3k2l1", "", .nonce), ("739104", "882716", "nonce", .counter),
      ("882716", "739104", "X-Nonce", .nonce), ("a1b2c3d4", "d4c3b2a1", "Idempotency-Key", .nonce),
      ("548t50vb@example.com", "x8k2m4q7@example.com", "email", .nonce),
      ("41", "57", "seq", .counter), ("7", "8", "sequence_number", .counter), ("1", "2", "jsonrpc id", .counter),
      (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "X-Amz-Signature", .signature
      ),
      ("sha256=9f86d081884c7d659a2feaa0c55ad015", "sha256=2c26b46b68ffc68ff99b453c1d304134", "signature", .signature),
      ("q83vEjRWeJCrze8SNFZ4kKvN7w==", "EjRWeJCrze8SNFZ4kKvN7xI0Vng=", "hmac", .signature),
      ("<redacted>", "4711", "pin", .redacted), ("Bearer <redacted:shop/api-key>", "Bearer x", "", .redacted),
    ])
  func kinds(recorded: String, actual: String, name: String, expected: ValueChange) {
    #expect(kind(recorded, actual, name) == expected)
  }

  @Test(
    "what may be meaningful is not",
    arguments: [
      ("tea", "coffee", "item"), ("ann42@example.com", "bob17@example.com", "email"), ("1", "2", "page"),
      ("41", "40", "seq"), ("iPhone15Pro", "Galaxy24Ultra", "model"), ("4111111111111111", "5500000000000004", "card"),
      ("eyJvZmZzZXQiOjEwMH0x2", "eyJvZmZzZXQiOjIwMH0x3", "nextPageToken"), ("", "550e8400", "nonce"),
      ("en", "de", "state"), ("pendingApprovalByManager", "rejectedBySystemOperator", "state"),
      ("orderPaidAndShippedToUser", "waitingForUserToSignIn", "state"),
      (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "sha256Hash"
      ),
      ("order/550e8400-e29b-41d4-a716-446655440000", "cart/6ba7b810-9dad-11d1-80b4-00c04fd430c8", ""),
      ("same", "same", "nonce"),
    ])
  func unknown(recorded: String, actual: String, name: String) { #expect(kind(recorded, actual, name) == nil) }

  @Test("a token of the same user is a signature, one of another user is not")
  func tokens() {
    // {"alg":"HS256"}, then the claims.
    func token(_ claims: String, _ signature: String) -> String {
      "eyJhbGciOiJIUzI1NiJ9.\(base64URL(claims)).\(signature)"
    }
    let one = token(#"{"sub":"ann","iat":1538989200,"exp":1538992800,"jti":"a"}"#, "abc")
    let other = token(#"{"sub":"ann","iat":1539172805,"exp":1539176405,"jti":"b"}"#, "def")
    let bob = token(#"{"sub":"bob","iat":1539172805,"exp":1539176405,"jti":"b"}"#, "ghi")
    #expect(kind(one, other) == .signature)
    #expect(kind("Bearer \(one)", "Bearer \(other)") == .signature)
    #expect(kind(one, bob, "token") == nil)
  }

  @Test("in a text, all values that differ have to be of a known kind")
  func texts() throws {
    let recorded = "<order>\n <sentAt>2018-10-08T09:00:01Z</sentAt>\n <tea>2</tea>\n</order>"
    let actual = "<order>\n <sentAt>2018-10-10T12:00:03Z</sentAt>\n <tea>2</tea>\n</order>"
    let changes = try #require(TextChange.all(from: recorded, to: actual, named: "", by: Self.clocks))
    #expect(changes.map(\.kind) == [.instant])
    #expect(changes.map(\.before) == [" <sentAt>"])
    let more = actual.replacing("<tea>2", with: "<tea>3")
    #expect(TextChange.all(from: recorded, to: more, named: "", by: Self.clocks) == nil)
    #expect(TextChange.all(from: recorded, to: actual + "\n", named: "", by: Self.clocks) == nil)
    let named = TextChange.all(from: "a=1&nonce=qwerty1;b", to: "a=1&nonce=asdfgh2;b", named: "", by: [])
    #expect(named?.map(\.kind) == [.nonce])
  }

  @Test("takes linear time for long texts")
  func long() {
    let recorded = String(repeating: "a=1&", count: 60_000)
    #expect(TextChange.all(from: recorded, to: recorded + "b", named: "", by: []) == nil)
    #expect(TextChange.all(from: recorded + recorded, to: recorded, named: "", by: []) == nil)
  }

  private func base64URL(_ text: String) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var output = ""
    var (bits, count) = (0, 0)
    for byte in text.utf8 {
      (bits, count) = (bits << 8 | Int(byte), count + 8)
      while count >= 6 {
        count -= 6
        output.append(digits[bits >> count & 63])
        bits &= (1 << count) - 1
      }
    }
    if count > 0 { output.append(digits[bits << (6 - count) & 63]) }
    return output
  }
}
