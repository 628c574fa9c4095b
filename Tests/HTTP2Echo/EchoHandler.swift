import HTTPMessages
import HTTPServer

/// Sends requests back in several ways, and is a gRPC service `echo.Echo` for messages of any format.
struct EchoHandler: RequestHandler {
  init() {}

  var isBrief: Bool { true }

  func respond(to request: Request) async throws -> Response {
    if GRPCFraming(contentType: request.headers["Content-Type"] ?? "") == .grpc { return try await call(request) }
    let parts = request.target.split { $0 == "/" || $0 == "?" }
    switch parts.first {
    case "echo": return Response(status: 200, headers: ["X-First": "head"], body: echo(request))
    case "count":
      var count = 0
      try await request.body.forEachPiece { count += $0.count }
      return .text("\(count)\n")
    case "bytes":
      let count = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
      let pipe = BytePipe()
      Task {
        let piece = [UInt8](repeating: 0x78, count: 65_536)
        var left = count
        while left > 0 {
          try await pipe.write(left < piece.count ? Array(piece[..<left]) : piece)
          left -= min(left, piece.count)
        }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: parts.count == 3 ? nil : count))
    case "mirror":
      var text = "\(request.method) \(request.target)\n"
      for field in request.headers.fields { text += "\(field.name): \(field.value)\n" }
      let body = try await request.body.collect(upTo: 1 << 24)
      for field in request.trailers?.headers.fields ?? [] { text += "trailer \(field.name): \(field.value)\n" }
      return .text(text + String(decoding: body, as: UTF8.self))
    default: return .text("hello\n")
    }
  }

  /// The request's body as it arrives.
  private func echo(_ request: Request) -> Body {
    guard case .stream(let incoming, let length) = request.body else { return request.body }
    let pipe = BytePipe()
    pipe.onAbandoned { incoming.abandon() }
    Task {
      do {
        while let bytes = try await incoming.read() { try await pipe.write(bytes) }
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    return .stream(pipe, length: length)
  }

  // MARK: gRPC

  private func call(_ request: Request) async throws -> Response {
    let trailers = Trailers()
    let headers: Headers = ["Content-Type": request.headers["Content-Type"] ?? "application/grpc"]
    let pipe = BytePipe()
    let body = request.body
    let method = request.target.split(separator: "/").last.map(String.init) ?? ""
    if method == "Unauthenticated" {
      return Response(status: 200, headers: ["Content-Type": "application/grpc", "grpc-status": "16"])
    }
    guard ["Unary", "ServerStream", "ClientStream", "BidiStream"].contains(method) else {
      // Some clients fail if the response ends before their request.
      try await body.forEachPiece { _ in }
      return Response(status: 200, headers: ["Content-Type": "application/grpc", "grpc-status": "12"])
    }
    Task {
      do {
        var parser = GRPCMessageParser(limit: 64 << 20)
        var joined: [UInt8] = []
        try await body.forEachPiece { bytes in
          for message in try parser.parse(bytes) {
            switch method {
            case "ServerStream":
              for byte in message.payload { try await pipe.write(GRPCMessage([byte]).frame) }
            case "ClientStream": joined += message.payload
            default: try await pipe.write(message.frame)
            }
          }
        }
        try parser.finish()
        if method == "ClientStream" { try await pipe.write(GRPCMessage(joined).frame) }
        trailers.append("grpc-status", "0")
        trailers.append("x-method", method)
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    return Response(status: 200, headers: headers, body: .stream(pipe, length: nil), trailers: trailers)
  }
}

extension Response {
  fileprivate static func text(_ text: String) -> Response {
    Response(status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(Array(text.utf8)))
  }
}
