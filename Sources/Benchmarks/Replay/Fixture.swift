import Foundation

/// What both servers answer, byte for byte.
let answer = #"{"id":"33b5dc9e","name":"Dr Pixel","slots":["2018-10-08T09:00:00Z","2018-10-08T09:15:00Z"],"free":true}"#

/// The path of one interaction.
func path(_ index: Int) -> String {
  "/v1/clinicians/\(index)/slots?day=2018-10-08"
}

/// Writes a HAR as any tool would, with nothing of ours in it, and returns its path without the ending.
func writeCassette(of size: Int, in scratch: Scratch) throws -> URL {
  let quoted = String(decoding: try JSONEncoder().encode(answer), as: UTF8.self)
  var text = #"{"log":{"version":"1.2","creator":{"name":"bench","version":"1"},"entries":["#
  for index in 0..<size {
    let url = "http://127.0.0.1:9" + path(index)
    text += index == 0 ? "\n" : ",\n"
    text += """
      {"startedDateTime":"2018-10-08T09:00:00.000Z","time":1,"request":{"method":"GET","url":"\(url)",\
      "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[{"name":"day","value":"2018-10-08"}],\
      "headersSize":-1,"bodySize":0},"response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1",\
      "cookies":[],"headers":[{"name":"Server","value":"nginx"},\
      {"name":"Date","value":"Mon, 08 Oct 2018 09:00:00 GMT"},{"name":"Content-Type","value":"application/json"},\
      {"name":"Content-Length","value":"\(answer.utf8.count)"}],"content":{"size":\(answer.utf8.count),\
      "mimeType":"application/json","text":\(quoted)},"redirectURL":"","headersSize":-1,\
      "bodySize":\(answer.utf8.count)},"cache":{},"timings":{"send":0,"wait":1,"receive":0}}
      """
  }
  text += "\n]}}\n"
  let base = scratch.file("cassette-\(size)")
  try Data(text.utf8).write(to: base.appendingPathExtension("har"))
  return base
}
