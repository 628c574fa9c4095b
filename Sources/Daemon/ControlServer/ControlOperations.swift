package import ControlAPI
package import EnvironmentService
package import HTTPMessages

/// What the control API does with environments and ports, as ``EnvironmentManager`` does it.
///
/// The seam at which the server is tested for answers that a real manager rarely gives.
package protocol ControlOperations: Sendable {
  func provision(_ request: ProvisioningRequest) async throws(DaemonError) -> ProvisionedEnvironment
  func environments() -> EnvironmentList
  func environment(_ id: String) throws(DaemonError) -> ProvisionedEnvironment
  func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision
  func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer
  func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response
  func journal(_ id: String, after: Int, limit: Int) throws(DaemonError) -> JournalPage
  func followJournal(_ id: String) throws(DaemonError) -> JournalFollower
  func report(_ id: String) throws(DaemonError) -> Report
  func end(_ id: String, keepEmptyRecording: Bool) async throws(DaemonError) -> Report
  func leasePorts(_ request: PortsRequest) async throws(DaemonError) -> PortList
  func ports() -> PortList
  func releasePort(_ port: UInt16) async throws(DaemonError)
  func counters() -> EnvironmentCounters
}

extension EnvironmentManager: ControlOperations {}
