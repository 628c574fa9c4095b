import EnvironmentConfiguration
import HTTPMessages

extension RouteTable {
  /// Leases of ports.
  static let ports = [
    Route(
      method: "POST", path: "/v1/ports", operation: "leasePorts", summary: "Leases free ports, all or none.",
      body: RequestBody(schema: "PortsRequest"),
      answers: [.json(201, "PortList", "They are held.")],
      problems: [
        409: "the pool has not so many free ports", 422: "such a lease cannot be",
        503: "the system has no sockets left for them", 507: "it cannot be stored, so that there is none",
      ],
      perform: { call in try .json(try await call.operations.leasePorts(try call.decode()), status: 201) }),
    Route(
      method: "GET", path: "/v1/ports", operation: "listPorts", summary: "All leases, by port.",
      answers: [.json(200, "PortList", "Who holds what.")],
      perform: { call in try .json(call.operations.ports()) }),
    Route(
      method: "DELETE", path: "/v1/ports/{port}", operation: "releasePort", summary: "Gives a port back.",
      parameters: [Parameter(name: "port", place: .path, schema: Schemas.port, note: "The port.")],
      answers: [Answer(status: 204, note: "It is free.", content: [:])],
      problems: [
        404: "the port is not leased", 409: "the port is an environment's, and comes back with it",
        507: "it cannot be stored, so that the port stays leased",
      ],
      perform: { call in
        try await call.operations.releasePort(UInt16(call.parameters.int("port") ?? 0))
        return Response(status: 204)
      }),
  ]
}
