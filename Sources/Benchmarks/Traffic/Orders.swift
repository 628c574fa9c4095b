import Foundation

/// A thousand requests that only differ in their JSON: recorded in one order of members, sent in another.
enum Orders {
  static let count = 1_000

  private static func recorded(_ index: Int) -> [String: Any] {
    ["item": index, "quantity": 2, "clinic": "north", "notes": ["a", ["urgent": true]] as [Any]]
  }

  /// Lua that makes the request with the number `i`.
  static let request = #"""
    wrk.format("POST", "/orders", {["Content-Type"] = "application/json"},
      string.format('{ "notes": ["a", {"urgent": true}], "quantity": 2, "item": %d, "clinic": "north" }', i))
    """#

  /// A HAR of them, without its ending.
  static func cassette(in scratch: Scratch) throws -> URL {
    let entries: [[String: Any]] = try (0..<count).map { index in
      let body = try JSONSerialization.data(withJSONObject: recorded(index), options: .sortedKeys)
      return [
        "startedDateTime": "2018-10-08T09:00:00.000Z", "time": 1,
        "request": [
          "method": "POST", "url": "http://127.0.0.1:9/orders", "headers": [[String: Any]](),
          "postData": ["mimeType": "application/json", "text": String(decoding: body, as: UTF8.self)],
        ] as [String: Any],
        "response": [
          "status": 200, "statusText": "OK", "headers": [["name": "Content-Type", "value": "application/json"]],
          "content": ["size": answer.utf8.count, "mimeType": "application/json", "text": answer] as [String: Any],
        ] as [String: Any],
      ]
    }
    let log: [String: Any] = ["version": "1.2", "creator": ["name": "bench", "version": "1"], "entries": entries]
    let base = scratch.file("orders")
    try JSONSerialization.data(withJSONObject: ["log": log]).write(to: base.appendingPathExtension("har"))
    return base
  }

  /// A folder for WireMock with the same.
  static func mappings(in scratch: Scratch) throws -> URL {
    try writeMappings(
      (0..<count).map { index in
        ["method": "POST", "url": "/orders", "bodyPatterns": [["equalToJson": recorded(index)]]]
      }, named: "wiremock-orders", in: scratch)
  }

  /// A folder for WireMock where all these requests have our one answer.
  static func writeMappings(_ requests: [[String: Any]], named name: String, in scratch: Scratch) throws -> URL {
    let folder = scratch.file(name)
    let mappings = folder.appendingPathComponent("mappings")
    try FileManager.default.createDirectory(at: mappings, withIntermediateDirectories: true)
    let response: [String: Any] = ["status": 200, "body": answer, "headers": ["Content-Type": "application/json"]]
    let all = ["mappings": requests.map { ["request": $0, "response": response] }]
    try JSONSerialization.data(withJSONObject: all).write(to: mappings.appendingPathComponent("all.json"))
    return folder
  }
}
