import ControlAPI
import EnvironmentConfiguration
import HTTPMessages

extension RouteTable {
  /// About the daemon itself.
  static let daemon = [
    Route(
      method: "GET", path: "/v1/health", operation: "health", summary: "Says that the daemon is there.", isOpen: true,
      answers: [.json(200, "Health", "It is.")],
      perform: { call in try .json(call.server.health) }),
    Route(
      method: "GET", path: "/openapi.json", operation: "description", summary: "This document.", isOpen: true,
      answers: [
        Answer(status: 200, note: "OpenAPI 3.1.", content: ["application/json": .map(Schemas.anyName, to: .anything)])
      ],
      perform: { call in
        try .json(OpenAPI.document(version: call.server.health.version, bodyLimit: call.server.bodyLimit))
      }),
    Route(
      method: "GET", path: "/metrics", operation: "metrics", summary: "Figures for Prometheus.",
      answers: [Answer(status: 200, note: "The text exposition format.", content: [MetricsPage.mediaType: .words])],
      perform: { call in
        Response(
          status: 200, headers: ["Content-Type": MetricsPage.mediaType, "Cache-Control": "no-store"],
          body: .bytes(Array(MetricsPage(call.server).text.utf8)))
      }),
  ]
}
