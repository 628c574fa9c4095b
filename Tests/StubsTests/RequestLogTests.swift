import Foundation
import HTTPMessages
import Stubs
import Testing

@Suite("A request log")
struct RequestLogTests {
  @Test("keeps method, target, headers and body of each request")
  func kept() {
    let sent = request("POST", "/a?x=1", ["Host": "h", "X-Empty": "", "X-Name": "é"], "body")
    var log = RequestLog()
    let number = log.add(LoggedRequest(sent), at: context.now)
    log.complete(number, stub: "s", status: 201, response: .init(headers: [:], body: [1]))
    let entry = log[number]
    #expect(entry?.stub == "s")
    #expect(entry?.status == 201)
    #expect(entry?.request.request.method == "POST")
    #expect(entry?.request.request.target == "/a?x=1")
    #expect(entry?.request.request.headers == sent.headers)
    #expect(entry?.request.request.body == sent.body)
  }

  @Test("keeps the last requests up to its capacity, and up to 64 MiB of bodies")
  func limits() {
    var log = RequestLog()
    log.capacity = 10
    for _ in 0..<5_000 { log.add(LoggedRequest(request()), at: context.now) }
    #expect(log.entries.map(\.number) == Array(4_991...5_000))
    #expect(log[4_990] == nil)
    let large = String(repeating: "x", count: 30 << 20)
    for _ in 0..<3 { log.add(LoggedRequest(request("POST", "/", [:], large)), at: context.now) }
    #expect(log.entries.map(\.number) == [5_002, 5_003])
    let removed = log.removeAll { $0.number == 5_002 }
    #expect(removed.map(\.number) == [5_002])
    #expect(log.entries.map(\.number) == [5_003])
    log.capacity = 0
    let number = log.add(LoggedRequest(request()), at: context.now)
    #expect(number == 5_004)
  }
}
