import ControlAPI
import EnvironmentConfiguration
import HTTPMessages

extension RouteTable {
  static let id = Parameter(name: "id", place: .path, schema: Schemas.identifier, note: "The environment's id.")
  static let gone: [Int: String] = [404: "there is no such environment", 410: "the environment has ended"]
  static let noRoom =
    "it cannot be stored, as when the disk of the state folder is full; nothing has changed then, "
    + "unless the detail says so"

  /// The life of environments.
  static let environments = [
    Route(
      method: "POST", path: "/v1/environments", operation: "provisionEnvironment",
      summary: "Provisions an environment; it is there, and kept, before this answers.",
      body: RequestBody(schema: "ProvisioningRequest"),
      answers: [
        .json(201, "ProvisionedEnvironment", "It answers from now on.", headers: ["Location": "Where it is."])
      ],
      problems: [
        409: "the cassette is being recorded by another environment or cannot be written, or the pool has not so many "
          + "free ports",
        422: "such an environment cannot be: no such cassette, a broken one, no upstream to record from, no such owner",
        429: "there are too many environments",
        503: "the system has no sockets left for its ports",
        507: noRoom,
      ],
      perform: { call in
        let made = try await call.operations.provision(try call.decode())
        return try .json(made, status: 201, headers: ["Location": "/v1/environments/\(made.id)"])
      }),
    Route(
      method: "GET", path: "/v1/environments", operation: "listEnvironments",
      summary: "All environments, the oldest first, without their contracts.",
      answers: [.json(200, "EnvironmentList", "What runs.")],
      perform: { call in try .json(call.operations.environments()) }),
    Route(
      method: "GET", path: "/v1/environments/{id}", operation: "showEnvironment",
      summary: "One environment, with its contract.", parameters: [id],
      answers: [.json(200, "ProvisionedEnvironment", "As it is now.")], problems: gone,
      perform: { call in try .json(try call.operations.environment(call.id)) }),
    Route(
      method: "PATCH", path: "/v1/environments/{id}", operation: "patchEnvironment",
      summary: "Changes toggles, values, clock and mode while apps run, all in one step.", parameters: [id],
      body: RequestBody(schema: "EnvironmentPatch", mediaTypes: ["application/json", "application/merge-patch+json"]),
      answers: [.json(200, "Revision", "Every app that follows has applied it.")],
      problems: gone.merging([
        409: "an app did not apply it in time, or the environment is ending", 422: "such a change cannot be",
        429: "too many calls wait", 507: noRoom,
      ]) { $1 },
      perform: { call in try .json(try await call.operations.patch(call.id, try call.decode())) }),
    Route(
      method: "POST", path: "/v1/environments/{id}/clock", operation: "moveClock",
      summary: "Waits for sleepers, moves the clock, and answers once every app has applied it.", parameters: [id],
      body: RequestBody(schema: "ClockMoveRequest"),
      answers: [.json(200, "ClockMoveAnswer", "It has moved.")],
      problems: gone.merging([
        409: "the sleepers did not come, an app did not apply it in time, or the environment is ending",
        422: "the clock cannot move so", 429: "too many calls wait", 507: noRoom,
      ]) { $1 },
      perform: { call in try .json(try await call.operations.moveClock(call.id, try call.decode())) }),
    Route(
      method: "POST", path: "/v1/environments/{id}/strings", operation: "drawString",
      summary: "The next random value of a key, for programs without the library.", parameters: [id],
      body: RequestBody(schema: "StringRequest"),
      answers: [.json(200, "StringAnswer", "The value, and the use that it belongs to.")],
      problems: gone.merging([
        400: "there is no such value", 409: "the value is not recorded, or the environment is ending",
        507: "it cannot be recorded or stored, as when a disk is full",
      ]) { $1 },
      perform: { call in try await call.operations.strings(call.id, body: call.body) }),
    Route(
      method: "DELETE", path: "/v1/environments/{id}", operation: "endEnvironment",
      summary: "Ends an environment and answers its report, once its ports and files are back.",
      parameters: [
        id,
        Parameter(
          name: "keepEmptyRecording", place: .query, schema: .boolean,
          note: "Whether a recording of nothing takes an older cassette's place; true where it is left out."),
      ],
      answers: [
        .json(200, "Report", "What it came to; a cassette that could not be written is among its failures.")
      ],
      problems: gone,
      perform: { call in
        let keeps = call.parameters.bool("keepEmptyRecording") ?? true
        return try .json(try await call.operations.end(call.id, keepEmptyRecording: keeps))
      }),
  ]
}
