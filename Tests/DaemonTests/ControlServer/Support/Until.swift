/// Waits for what no callback tells.
func until(_ condition: () -> Bool) async throws {
  while !condition() {
    try Task.checkCancellation()
    try await Task.sleep(for: .milliseconds(2))
  }
}
