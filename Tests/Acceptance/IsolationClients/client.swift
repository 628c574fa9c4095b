// Gets and posts by URLSession.
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

func show(_ request: URLRequest) async throws {
  let (data, response) = try await URLSession.shared.data(for: request)
  print((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
}

guard CommandLine.arguments.count == 2, let base = URL(string: CommandLine.arguments[1]),
  let get = URL(string: "/get?client=swift", relativeTo: base), let target = URL(string: "/post", relativeTo: base)
else { fatalError("usage: client URL") }
try await show(URLRequest(url: get))
var post = URLRequest(url: target)
post.httpMethod = "POST"
post.httpBody = Data("from Swift".utf8)
try await show(post)
