import CNGHTTP2

/// The functions that nghttp2 calls, which pass everything on to the connection.
enum HTTP2Callbacks {
  /// Creates a session of a server; nil if memory is exhausted.
  static func makeSession() -> OpaquePointer? {
    guard let callbacks, let options else { return nil }
    var session: OpaquePointer?
    guard nghttp2_session_server_new2(&session, callbacks, nil, options) == 0 else { return nil }
    return session
  }

  /// Sets the connection that is called; it must outlive the session.
  static func connect(_ session: OpaquePointer, to connection: HTTP2Connection) {
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(connection).toOpaque())
  }

  /// The body of every response: the connection knows which one it is.
  static let contentSource = nghttp2_data_provider(
    source: nghttp2_data_source(),
    read_callback: { _, id, buffer, count, flags, _, context in
      guard let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
      return connection(context)?
        .readContent(of: id, into: UnsafeMutableRawBufferPointer(start: buffer, count: count), flags: flags)
        ?? Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    })

  private static func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Connection? {
    context.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
  }

  // A session copies both when it is created (nghttp2_session_server_new2(3)), so all sessions share them.
  private nonisolated(unsafe) static let options: OpaquePointer? = {
    var options: OpaquePointer?
    guard nghttp2_option_new(&options) == 0 else { return nil }
    // The handler's pace decides.
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_max_send_header_block_length(options, FieldBlock.encodedLimit)
    // Closed streams are kept for priorities, which are not used.
    nghttp2_option_set_no_closed_streams(options, 1)
    return options
  }()

  private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      guard let frame else { return 0 }
      connection(context)?.headBegins(
        of: frame.pointee.hd.stream_id, isTrailer: frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST)
      return 0
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameCount, value, valueCount, _, context in
      guard let frame else { return 0 }
      connection(context)?.fieldArrived(
        UnsafeRawBufferPointer(start: name, count: nameCount), UnsafeRawBufferPointer(start: value, count: valueCount),
        of: frame.pointee.hd.stream_id, isTrailer: frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST)
      return 0
    }
    // By default, nghttp2 drops fields that are not valid; RFC 9113, 8.2.1 makes their message malformed.
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { session, frame, _, _, _, _, _, _ in
      guard let frame else { return 0 }
      nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), frame.pointee.hd.stream_id, NGHTTP2_PROTOCOL_ERROR.rawValue)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let frame = frame?.pointee, let connection = connection(context) else { return 0 }
      let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      switch UInt32(frame.hd.type) {
      case NGHTTP2_HEADERS.rawValue: connection.headArrived(of: frame.hd.stream_id, endsRequest: isLast)
      case NGHTTP2_DATA.rawValue where isLast: connection.bodyEnded(of: frame.hd.stream_id)
      default: break
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
      connection(context)?.bodyArrived(UnsafeRawBufferPointer(start: bytes, count: count), of: id)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      guard let frame = frame?.pointee, frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
        [NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue].contains(UInt32(frame.hd.type))
      else { return 0 }
      connection(context)?.responseEnded(of: frame.hd.stream_id)
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
      connection(context)?.streamClosed(id)
      return 0
    }
    return callbacks
  }()
}
