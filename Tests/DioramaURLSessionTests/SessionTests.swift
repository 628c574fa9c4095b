import Basics
@testable import DioramaTesting
import DioramaURLSession
import Foundation
import HTTPMessages
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Session of an environment")
struct SessionTests {
  private struct Prescription: Codable, Equatable {
    var id: Int
    var dose: Double
  }

  /// Runs a test in an environment of mode mock, with a session.
  private func mocked(
    _ hosting: Hosting, clock: TestEnvironment.ClockSettings? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (TestEnvironment, URLSession) async throws -> Void
  ) async throws {
    let environment = try await TestEnvironment.provision(
      case: hosting.rawValue, mode: .mock,
      upstreams: ["api": "https://api.example.com", "other": "http://other.example.com:8080"], clock: clock,
      host: try await hosting.host, sourceLocation: sourceLocation)
    let session = URLSession(configuration: .diorama(environment))
    do { try await body(environment, session) } catch {
      await environment.end()
      throw error
    }
    session.invalidateAndCancel()
    await environment.end()
  }

  private func error(_ session: URLSession, _ request: URLRequest) async throws -> URLError {
    try await #require(throws: URLError.self) { try await session.answer(request) }
  }

  @Test("gets stubs and collections at the real URLs, which responses keep", arguments: Hosting.allCases)
  func stubs(_ hosting: Hosting) async throws {
    try await mocked(hosting) { environment, session in
      let given = [Prescription(id: 7, dose: 1)]
      try await environment.stub(.get("/prescriptions")) { .json(given) }
      let (data, response) = try await session.data(
        from: try #require(URL(string: "https://api.example.com/prescriptions")))
      #expect(try JSONDecoder().decode([Prescription].self, from: data) == given)
      #expect(response.url?.absoluteString == "https://api.example.com/prescriptions")
      #expect(response.mimeType == "application/json")
      // Added while the session is in use.
      try await environment.stub(.get("/links")) {
        .text(#"{"next": "https://api.example.com/2", "other": "http://other.example.com:8080/x"}"#)
          .header("Link", "<https://api.example.com/2>; rel=next").header("Set-Cookie", "a=1; Secure; Path=/")
      }
      let links = try await session.answer("https://API.example.com:443/links?x=%41")
      #expect(links.text == #"{"next": "https://api.example.com/2", "other": "http://other.example.com:8080/x"}"#)
      #expect(links.headers["Link"] == "<https://api.example.com/2>; rel=next")
      #expect(links.headers["Set-Cookie"] == "a=1; Secure; Path=/")
      let patients = try await environment.collection("patients", at: "/patients/{id}", items: given)
      #expect(try await session.answer("http://other.example.com:8080/patients/7").text == #"{"dose":1,"id":7}"#)
      #expect(try await session.answer(URLRequest("DELETE", "https://api.example.com/patients/7")).status / 100 == 2)
      #expect(try await patients.items.isEmpty)
      let requests = try await environment.requests(matching: .get("/links"))
      #expect(requests.map(\.url) == ["https://api.example.com/links?x=%41"])
      #expect(requests.first?.headers["Host"] == "api.example.com")
      #expect(requests.first?.headers["Diorama-Client"] == nil)
    }
  }

  @Test("is refused for an undeclared host, as over a socket", arguments: Hosting.allCases)
  func undeclared(_ hosting: Hosting) async throws {
    let environment = try await TestEnvironment.provision(
      case: hosting.rawValue, mode: .mock, upstreams: ["api": "https://api.example.com"], host: try await hosting.host)
    let session = URLSession(configuration: .diorama(environment))
    // The other scheme is another origin.
    for url in ["https://api.example.org/x", "http://api.example.com/x"] {
      let answer = try await session.answer(url)
      #expect(answer.status == 501)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      #expect(answer.text.contains("is not an upstream of this environment"), "\(answer.text)")
    }
    // No stub.
    #expect(try await session.answer("https://api.example.com/x").status == 501)
    let report = try #require(await environment.finish(hasFailed: false)?.failure)
    #expect(report.contains("https://api.example.com/x"), "\(report)")
  }

  @Test("sends bodies of all kinds", arguments: Hosting.allCases)
  func bodies(_ hosting: Hosting) async throws {
    try await mocked(hosting) { environment, session in
      try await environment.stub(.any("/orders")) { .status(201) }
      let url = "https://api.example.com/orders"
      #expect(try await session.answer(URLRequest("POST", url, "data")).status == 201)
      var streamed = try URLRequest("PUT", url)
      streamed.httpBodyStream = InputStream(data: Data("stream".utf8))
      #expect(try await session.answer(streamed).status == 201)
      let upload = try URLRequest("PATCH", url)
      _ = try await session.upload(for: upload, from: Data("upload".utf8))
      let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try Data("file".utf8).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      _ = try await session.upload(for: upload, fromFile: file)
      let requests = try await environment.requests(matching: .any("/orders"))
      #expect(
        requests.map { "\($0.method) \(String(decoding: $0.body, as: UTF8.self))" } == [
          "POST data", "PUT stream", "PATCH upload", "PATCH file",
        ])
      #expect(requests.first?.headers["Content-Type"] == "text/plain")
      #expect(requests.first?.headers["Content-Length"] == "4")
      #expect(requests.first?.headers["Accept"] == "*/*")
    }
  }

  @Test("sends the configuration's header fields, and cookies set by responses", arguments: Hosting.allCases)
  func fields(_ hosting: Hosting) async throws {
    try await mocked(hosting) { environment, _ in
      let configuration = URLSessionConfiguration.diorama(environment)
      configuration.httpAdditionalHeaders = ["Authorization": "Bearer t-1", "X-One": "session"]
      let session = URLSession(configuration: configuration)
      try await environment.stub(.any("/login")) { .status(204).header("Set-Cookie", "session=s-1; Path=/; Secure") }
      try await environment.stub(.any("/profile")) { .text("Ann") }
      _ = try await session.answer("https://api.example.com/login")
      var request = try URLRequest("GET", "https://api.example.com/profile")
      request.setValue("request", forHTTPHeaderField: "X-One")
      #expect(try await session.answer(request).text == "Ann")
      let other = URLSession(configuration: .diorama(environment))
      _ = try await other.answer("https://api.example.com/profile")
      let profile = try await environment.requests(matching: .get("/profile"))
      #expect(profile.map { $0.headers["Cookie"] } == ["session=s-1", nil])
      #expect(profile.map { $0.headers["Authorization"] } == ["Bearer t-1", nil])
      #expect(profile.first?.headers["X-One"] == "request")
    }
  }

  @Test("follows redirections, or asks its delegate", arguments: Hosting.allCases)
  func redirections(_ hosting: Hosting) async throws {
    try await mocked(hosting) { environment, session in
      try await environment.stub(.post("/old")) { .status(302).header("Location", "/new?x=1") }
      try await environment.stub(.put("/old")) { .status(307).header("Location", "http://other.example.com:8080/new") }
      try await environment.stub(.any("/new")) { .text("new") }
      try await environment.stub(.get("/loop")) { .status(301).header("Location", "/loop") }
      let (data, response) = try await session.data(for: URLRequest("POST", "https://api.example.com/old", "body"))
      #expect(String(decoding: data, as: UTF8.self) == "new")
      #expect(response.url?.absoluteString == "https://api.example.com/new?x=1")
      #expect(try await session.answer(URLRequest("PUT", "https://api.example.com/old", "body")).text == "new")
      let new = try await environment.requests(matching: .any("/new"))
      #expect(
        new.map { "\($0.method) \($0.url) \(String(decoding: $0.body, as: UTF8.self))" } == [
          "GET https://api.example.com/new?x=1 ", "PUT http://other.example.com:8080/new body",
        ])
      #expect(try await error(session, URLRequest("GET", "https://api.example.com/loop")).code == .httpTooManyRedirects)
      final class Refusing: NSObject, URLSessionTaskDelegate {
        func urlSession(
          _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
          newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) { completionHandler(nil) }
      }
      let staying = URLSession(configuration: .diorama(environment), delegate: Refusing(), delegateQueue: nil)
      let stayed = try await staying.answer(URLRequest("POST", "https://api.example.com/old", "body"))
      #expect(stayed.status == 302)
      #expect(stayed.headers["Location"] == "/new?x=1")
    }
  }

  @Test("reports broken connections as errors", arguments: Hosting.allCases)
  func faults(_ hosting: Hosting) async throws {
    try await mocked(hosting) { environment, session in
      try await environment.stub(.get("/reset")) { .fault(.connectionReset) }
      try await environment.stub(.get("/empty")) { .fault(.emptyResponse) }
      try await environment.stub(.get("/garbage")) { .fault(.randomData) }
      for path in ["reset", "empty", "garbage"] {
        let error = try await error(session, URLRequest("GET", "https://api.example.com/\(path)"))
        guard hosting == .embedded else { continue }
        #expect(error.code == (path == "garbage" ? .badServerResponse : .networkConnectionLost), "\(path)")
      }
    }
  }

  @Test("ends a request that is cancelled or times out", arguments: Hosting.allCases)
  func cancelled(_ hosting: Hosting) async throws {
    try await mocked(hosting, clock: .manual(at: "2018-10-08T09:00:00Z")) { environment, session in
      // The test never moves the clock.
      try await environment.stub(.get("/slow")) { .text("late").delayed(by: .seconds(3600)) }
      let request = try URLRequest("GET", "https://api.example.com/slow")
      let task = Task { try await session.data(for: request) }
      while try await environment.requests(matching: .get("/slow")).isEmpty { await Task.yield() }
      task.cancel()
      await #expect {
        try await task.value
      } throws: {
        ($0 as? URLError)?.code == .cancelled || $0 is CancellationError
      }
      var impatient = request
      impatient.timeoutInterval = 0.2
      #expect(try await error(session, impatient).code == .timedOut)
      // The requests have ended in the environment, too, so that its end does not wait for them.
      var left = 0
      while left < 2 {
        let log = try await environment.admin("GET", "/requests", nil)["requests"]?.array ?? []
        left = log.count { $0["response"]?["status"]?.int == 499 || $0["responseDefinition"]?["status"]?.int == 499 }
      }
    }
  }

  @Test("is independent of sessions of another environment", arguments: Hosting.allCases)
  func isolation(_ hosting: Hosting) async throws {
    let host = try await hosting.host
    let names = ["one", "two"]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in names {
        group.addTask {
          let environment = try await TestEnvironment.provision(
            case: "\(hosting) \(name)", mode: .mock, upstreams: ["api": "https://api.example.com"], host: host)
          try await environment.stub(.get("/name")) { .text(name) }
          let session = URLSession(configuration: .diorama(environment))
          try await withThrowingTaskGroup(of: String.self) { requests in
            for _ in 0..<50 {
              requests.addTask { try await session.answer("https://api.example.com/name").text }
            }
            for try await text in requests { #expect(text == name) }
          }
          #expect(try await environment.requests(matching: .get("/name")).count == 50)
          await environment.end()
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("replays recordings made over sockets, and vice versa", arguments: Hosting.allCases)
  func cassettes(_ hosting: Hosting) async throws {
    let large = String(repeating: "0123456789", count: 1 << 20)
    let backend = try Backend { request in
      switch request.target {
      case "/large":
        let body = try await request.body.collect(upTo: .max)
        return Response(status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(body))
      case "/coded":
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAAC/0vOT0lNAQCKRH5mBQAAAA=="))
        return Response(status: 200, headers: ["Content-Encoding": "gzip"], body: .bytes(Array(coded)))
      default:
        let host = request.headers["Host"] ?? ""
        return Response(
          status: 200, headers: ["Content-Type": "application/json"],
          body: .bytes(Array(#"{"u":"http://\#(host)/x"}"#.utf8)))
      }
    }
    let cassette = try TemporaryCassette()
    let host = try await hosting.host
    func run(_ mode: TestEnvironment.Mode) async throws -> [String] {
      let environment = try await TestEnvironment.provision(
        case: hosting.rawValue, mode: mode, upstreams: ["api": backend.url], cassette: cassette.path, host: host)
      let session = URLSession(configuration: .diorama(environment))
      var texts: [String] = []
      for request in [
        try URLRequest("GET", backend.url + "/links"), try URLRequest("POST", backend.url + "/large", large),
        try URLRequest("GET", backend.url + "/coded"),
      ] {
        let answer = try await session.answer(request)
        texts.append(answer.text)
      }
      #expect(try environment.endpoint("api").port != URL(string: backend.url)?.port)
      if mode == .replay {
        // Local URLs go through the socket, and show local URLs.
        let local = try environment.endpoint("api").absoluteString
        #expect(try await session.answer(local + "/links").text == #"{"u":"\#(local)/x"}"#)
      }
      await environment.end()
      return texts
    }
    let recorded = try await run(.record)
    #expect(recorded[0] == #"{"u":"\#(backend.url)/x"}"#)
    #expect(recorded[1] == large)
    #expect(recorded[2] == "coded")
    await backend.stop()
    #expect(try await run(.replay) == recorded)
  }

  @Test("delivers a stream piece by piece, as it arrives", arguments: Hosting.allCases)
  func streams(_ hosting: Hosting) async throws {
    let pipe = BytePipe()
    let backend = try Backend { _ in
      Response(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(pipe, length: nil))
    }
    let environment = try await TestEnvironment.provision(
      case: hosting.rawValue, mode: .proxy, upstreams: ["api": backend.url], host: try await hosting.host)
    final class Receiver: NSObject, URLSessionDataDelegate {
      let pieces = BytePipe(keepsChunks: true)

      func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        _ = data.withUnsafeBytes { pieces.offer($0) }
      }

      func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { pieces.fail(error) } else { pieces.finish() }
      }
    }
    let receiver = Receiver()
    let session = URLSession(configuration: .diorama(environment), delegate: receiver, delegateQueue: nil)
    session.dataTask(with: try URLRequest("GET", backend.url + "/events")).resume()
    for number in 1...3 {
      let event = Array("data: \(number)\n\n".utf8)
      try await pipe.write(event)
      #expect(try await receiver.pieces.read() == event)
    }
    pipe.finish()
    #expect(try await receiver.pieces.read() == nil)
    session.finishTasksAndInvalidate()
    await environment.end()
    await backend.stop()
  }

  @Test("passes the whole stream to a completion handler", arguments: Hosting.allCases)
  func wholeStream(_ hosting: Hosting) async throws {
    let backend = try Backend { _ in
      let pipe = BytePipe(keepsChunks: true)
      for number in 1...3 { try await pipe.write(Array("data: \(number)\n\n".utf8)) }
      pipe.finish()
      return Response(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(pipe, length: nil))
    }
    let environment = try await TestEnvironment.provision(
      case: hosting.rawValue, mode: .proxy, upstreams: ["api": backend.url], host: try await hosting.host)
    final class Delegate: NSObject, URLSessionDataDelegate {}
    for session in [
      URLSession(configuration: .diorama(environment)),
      URLSession(configuration: .diorama(environment), delegate: Delegate(), delegateQueue: nil),
    ] {
      #expect(try await session.answer(backend.url + "/events").text == "data: 1\n\ndata: 2\n\ndata: 3\n\n")
    }
    await environment.end()
    await backend.stop()
  }

  @Test("cannot connect once its environment has ended", arguments: Hosting.allCases)
  func ended(_ hosting: Hosting) async throws {
    let environment = try await TestEnvironment.provision(
      case: hosting.rawValue, mode: .mock, upstreams: ["api": "https://api.example.com"], host: try await hosting.host)
    let session = URLSession(configuration: .diorama(environment))
    await environment.end()
    let error = try await error(session, URLRequest("GET", "https://api.example.com/x"))
    #expect(error.code == .cannotConnectToHost)
    #expect(error.localizedDescription.contains("has ended"))
  }

  #if canImport(FoundationNetworking)
    @Test("refuses tasks that Foundation does not support on Linux, without reaching the network")
    func unserved() async throws {
      try await mocked(.embedded) { environment, session in
        try await environment.stub(.get("/file")) { .text("x") }
        let download = try await #require(throws: URLError.self) {
          try await session.download(for: URLRequest("GET", "https://api.example.com/file"))
        }
        #expect(download.localizedDescription.contains("use a data task"))
        let socket = session.webSocketTask(with: try #require(URL(string: "wss://api.example.com/ws")))
        socket.resume()
        await #expect(throws: (any Error).self) { try await socket.receive() }
      }
    }
  #else
    @Test("downloads files")
    func downloads() async throws {
      try await mocked(.embedded) { environment, session in
        try await environment.stub(.get("/file")) { .text("x") }
        let (file, _) = try await session.download(for: URLRequest("GET", "https://api.example.com/file"))
        #expect(try String(contentsOf: file, encoding: .utf8) == "x")
      }
    }
  #endif
}
