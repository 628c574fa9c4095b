import CMicroHTTPD

/// The functions that libmicrohttpd calls, all on the thread of one worker.
///
/// A connection's context is its ``Connection``, retained from opening to closing.
enum Callbacks {
  static func startDaemon(for core: ServerCore) -> OpaquePointer? {
    diorama_daemon_start(
      handle, completed, notify, target, Unmanaged.passUnretained(core).toOpaque(),
      // The accept loop enforces the limit; libmicrohttpd would close connections without a response, so its own is
      // higher.
      UInt32(clamping: core.configuration.maximumConnections + 64), core.configuration.poolSize,
      UInt32(clamping: core.configuration.idleSeconds))
  }

  private static let target: diorama_target_callback = { _, target, raw in
    guard let context = diorama_connection_context(raw) else { return nil }
    Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.targetArrived(UnsafeMutablePointer(mutating: target))
    }
    // Becomes the request's context.
    return context
  }

  private static let handle: MHD_AccessHandlerCallback = { _, raw, target, method, version, upload, size, context in
    guard let raw, let method, let size, let context = context?.pointee else { return .NO }
    return Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.handle(raw, target: target, method: method, version: version, upload: upload, size: size)
    }
  }

  /// Called for ``WireResponse/Content/upgrade`` once the response head has been sent.
  static let upgraded: MHD_UpgradeHandler = { _, _, context, bytes, count, socket, handle in
    guard let handle else { return }
    guard let context else {
      _ = diorama_upgrade_close(handle)
      return
    }
    Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.upgraded(received: [UInt8](UnsafeRawBufferPointer(start: bytes, count: count)), socket, handle)
    }
  }

  private static let completed: MHD_RequestCompletedCallback = { _, _, context, reason in
    guard let context = context?.pointee else { return }
    Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef {
      $0.requestEnded(complete: diorama_is_complete(reason) != 0)
    }
  }

  private static let notify: MHD_NotifyConnectionCallback = { core, raw, context, what in
    guard let core, let raw, let context else { return }
    if diorama_is_start(what) != 0 {
      let core = Unmanaged<ServerCore>.fromOpaque(core).takeUnretainedValue()
      guard let connection = core.connection(at: diorama_connection_descriptor(raw)) else { return }
      connection.opened(raw)
      context.pointee = Unmanaged.passRetained(connection).toOpaque()
    } else if let opened = context.pointee {
      context.pointee = nil
      Unmanaged<Connection>.fromOpaque(opened).takeRetainedValue().closed()
    }
  }
}
