import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What goes wrong between the app and its backend, in one line.
struct ClinicError: Error, CustomStringConvertible {
  var description: String
}

/// Requests and answers, JSON where nothing else is said.
struct Transport {
  private let session: URLSession

  init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 30
    configuration.urlCache = nil
    session = URLSession(configuration: configuration)
  }

  /// An answer's JSON.
  func json<Answer: Decodable>(
    _ method: String, _ url: URL, body: (some Encodable)? = Never?.none, token: String? = nil
  ) async throws -> Answer {
    let data = try await send(method, url, body: body, token: token)
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return try decoder.decode(Answer.self, from: data)
    } catch {
      throw ClinicError(description: "\(method) \(url): the answer is not what this app understands")
    }
  }

  /// An answer's bytes; redirects are followed.
  func send(
    _ method: String, _ url: URL, body: (some Encodable)? = Never?.none, token: String? = nil
  ) async throws -> Data {
    var request = URLRequest(url: url)
    request.httpMethod = method
    if let body {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      encoder.dateEncodingStrategy = .iso8601
      request.httpBody = try encoder.encode(body)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await answer(to: request, "\(method) \(url)")
    guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
      throw refusal("\(method) \(url)", response, data)
    }
    return data
  }

  private func answer(to request: URLRequest, _ call: String) async throws -> (Data, URLResponse) {
    do {
      return try await session.data(for: request)
    } catch {
      let reason = (error as NSError).localizedDescription.split(whereSeparator: \.isNewline).first ?? "no answer"
      throw ClinicError(description: "\(call): \(reason)")
    }
  }

  /// The backend's own words: a problem document's detail, else the first line.
  private func refusal(_ call: String, _ response: URLResponse, _ data: Data) -> ClinicError {
    struct Problem: Decodable {
      var detail: String
    }
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    let problem = try? JSONDecoder().decode(Problem.self, from: data)
    let firstLine = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    return ClinicError(description: "\(call): status \(status): \(problem?.detail ?? firstLine ?? "no reason given")")
  }
}
