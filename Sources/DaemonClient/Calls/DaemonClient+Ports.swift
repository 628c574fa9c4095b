package import ControlAPI

extension DaemonClient {
  /// Leases ports, all or none.
  package func leasePorts(_ request: PortsRequest) async throws(DaemonClientError) -> [PortList.Lease] {
    try await call("POST", "/v1/ports", sending: request, as: PortList.self).ports
  }

  /// All leases.
  package func ports() async throws(DaemonClientError) -> [PortList.Lease] {
    try await call("GET", "/v1/ports", as: PortList.self).ports
  }

  /// Gives a port back.
  package func releasePort(_ port: UInt16) async throws(DaemonClientError) {
    try await call("DELETE", "/v1/ports/\(port)")
  }
}
