/// The process at the other end of a Unix socket, as the system names it.
package struct Peer: Sendable, Hashable {
  /// The user it ran as when it connected.
  package let uid: UInt32
  /// Its process id when it connected; 0 where it cannot be seen from here.
  package let pid: Int32

  package init(uid: UInt32, pid: Int32) {
    self.uid = uid
    self.pid = pid
  }
}
