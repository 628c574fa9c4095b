import CNGHTTP2

/// The functions that nghttp2 calls, which pass everything on to the ``HTTP2Session``.
enum HTTP2SessionCallbacks {
  /// Creates a session of a client.
  ///
  /// - Parameter owner: receives the calls; must outlive the session.
  /// - Returns: the session; nil if memory is exhausted.
  static func makeSession(for owner: HTTP2Session) -> OpaquePointer? {
    guard let callbacks, let options else { return nil }
    var session: OpaquePointer?
    let context = Unmanaged.passUnretained(owner).toOpaque()
    guard nghttp2_session_client_new2(&session, callbacks, context, options) == 0 else { return nil }
    return session
  }

  /// The body of every request: the session knows which one it is.
  static let contentSource = nghttp2_data_provider(
    source: nghttp2_data_source(),
    read_callback: { _, id, buffer, count, flags, _, context in
      guard let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
      return owner(context)?
        .readContent(of: id, into: UnsafeMutableRawBufferPointer(start: buffer, count: count), flags: flags)
        ?? Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    })

  private static func owner(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
    context.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
  }

  // A session copies both when it is created (nghttp2_session_client_new2(3)), so all sessions share them.
  private nonisolated(unsafe) static let options: OpaquePointer? = {
    var options: OpaquePointer?
    guard nghttp2_option_new(&options) == 0 else { return nil }
    // The reader's pace decides.
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_max_send_header_block_length(options, Transfer.headLimit)
    return options
  }()

  private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameCount, value, valueCount, _, context in
      guard let frame else { return 0 }
      owner(context)?.fieldArrived(
        UnsafeRawBufferPointer(start: name, count: nameCount), UnsafeRawBufferPointer(start: value, count: valueCount),
        of: frame.pointee.hd.stream_id)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let frame = frame?.pointee, let owner = owner(context) else { return 0 }
      let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      switch UInt32(frame.hd.type) {
      case NGHTTP2_HEADERS.rawValue: owner.fieldsArrived(of: frame.hd.stream_id, endsResponse: isLast)
      case NGHTTP2_DATA.rawValue where isLast: owner.responseEnded(of: frame.hd.stream_id)
      case NGHTTP2_SETTINGS.rawValue: owner.settingsArrived()
      case NGHTTP2_GOAWAY.rawValue: owner.retire()
      default: break
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
      owner(context)?.bodyArrived(UnsafeRawBufferPointer(start: bytes, count: count), of: id)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, code, context in
      guard let frame, UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
      owner(context)?.requestFailed(frame.pointee.hd.stream_id, code)
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
      owner(context)?.streamClosed(id, code)
      return 0
    }
    return callbacks
  }()
}
