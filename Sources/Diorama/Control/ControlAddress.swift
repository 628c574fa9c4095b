#if DEBUG || Controlled
  import Foundation
  import LaunchContract

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Where an environment takes requests, and how one to it begins.
  struct ControlAddress: Sendable {
    /// As the contract has it, for messages.
    let url: String
    /// Whether it is there, for all who ask by this value.
    let presence: EnvironmentPresence
    private let authority: String
    private let basePath: String
    private let address: in_addr
    private let port: UInt16
    private let token: Secret

    /// - Parameters:
    ///   - control: the contract's.
    ///   - patience: with an environment that does not answer.
    /// - Throws: ``DioramaError`` of kind `contract` for a URL that is not `http` on an IPv4 loopback address.
    init(_ control: LaunchContract.Control, patience: Patience = Patience()) throws(DioramaError) {
      guard let components = URLComponents(string: control.url), components.scheme == "http",
        let host = components.host, let address = Self.loopback(host),
        let port = UInt16(exactly: components.port ?? 80), port > 0
      else {
        throw DioramaError(
          .contract,
          "launch contract: control.url: '\(control.url)' is not a URL such as http://127.0.0.1:20011/__diorama")
      }
      guard !control.token.revealed.utf8.contains(where: { $0 < 0x21 || $0 == 0x7F }) else {
        throw DioramaError(.contract, "launch contract: control.token: it must not have spaces or control characters")
      }
      url = control.url
      presence = EnvironmentPresence(patience)
      authority = "\(host):\(port)"
      var path = components.percentEncodedPath
      while path.hasSuffix("/") { path.removeLast() }
      basePath = path
      self.address = address
      self.port = port
      token = control.token
    }

    /// The bytes of a request.
    ///
    /// - Parameters:
    ///   - method: such as `POST`.
    ///   - path: below the control URL, with its query.
    ///   - body: JSON; nil for none.
    /// - Returns: its head and body.
    func request(_ method: String, _ path: String, body: [UInt8]? = nil) -> [UInt8] {
      var lines = [
        "\(method) \(basePath)\(path) HTTP/1.1", "Host: \(authority)", "Authorization: Bearer \(token.revealed)",
      ]
      if let body { lines += ["Content-Type: application/json", "Content-Length: \(body.count)"] }
      lines += ["", ""]
      return Array(lines.joined(separator: "\r\n").utf8) + (body ?? [])
    }

    func connect(by deadline: ContinuousClock.Instant) throws(SocketFailure) -> LoopbackSocket {
      try LoopbackSocket(to: address, port: port, by: deadline)
    }

    private static func loopback(_ host: String) -> in_addr? {
      var address = in_addr()
      guard inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &address) == 1,
        UInt32(bigEndian: address.s_addr) >> 24 == 127
      else { return nil }
      return address
    }
  }

  extension LoopbackSocket {
    /// Reads one answer, whole.
    func receiveAnswer(by deadline: ContinuousClock.Instant) throws -> HTTPAnswer {
      var received: [UInt8] = []
      while true {
        let bytes = try receive(by: deadline)
        received += bytes
        if let answer = try HTTPAnswer.parse(received, ended: bytes.isEmpty) { return answer }
      }
    }
  }

  extension HTTPAnswer {
    /// Why a request was refused, on one line.
    var refusal: String {
      struct Problem: Decodable {
        var title: String?
        var detail: String?
      }
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(body))
      let text = String(decoding: body.prefix(200), as: UTF8.self)
      let firstLine = text.split(whereSeparator: \.isNewline).first.map(String.init)
      return "status \(status): \(problem?.detail ?? problem?.title ?? firstLine ?? "no reason given")"
    }
  }
#endif
