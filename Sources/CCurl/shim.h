#pragma once
// Static inline functions for what Swift cannot import: curl's setters and getters are variadic, so there is one
// function per argument type.
#if !__has_include(<curl/curl.h>)
#error "libcurl is missing. Debian, Ubuntu: apt-get install libcurl4-openssl-dev. Homebrew: brew install curl"
#endif
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/socket.h>

static inline CURLcode curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_offset(CURL *easy, CURLoption option, int64_t value) {
  return curl_easy_setopt(easy, option, (curl_off_t)value);
}

// curl copies the text, whatever the option.
static inline CURLcode curl_set_text(CURL *easy, CURLoption option, const char *_Nullable text) {
  return curl_easy_setopt(easy, option, text);
}

// For pointers that curl keeps without copying.
static inline CURLcode curl_set_pointer(CURL *easy, CURLoption option, void *_Nullable pointer) {
  return curl_easy_setopt(easy, option, pointer);
}

// A body that curl copies. Set the length first (CURLOPT_COPYPOSTFIELDS).
static inline CURLcode curl_set_body(CURL *easy, const void *_Nullable bytes, int64_t count) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
}

static inline CURLcode curl_set_transfer_callbacks(
    CURL *easy, void *context, curl_write_callback header, curl_write_callback write, curl_read_callback read,
    curl_seek_callback seek) {
  CURLcode code = CURLE_OK;
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, read);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
  return code;
}

static inline CURLcode curl_set_debug(CURL *easy, void *context, curl_debug_callback callback) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_DEBUGDATA, context);
}

// By default, every child of this process would inherit curl's sockets and keep their connections open.
static inline curl_socket_t curl_private_socket(struct curl_sockaddr *address) {
#if defined(SOCK_CLOEXEC)
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
  int descriptor = socket(address->family, address->socktype, address->protocol);
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
#endif
}

static inline curl_socket_t curl_open_private_socket(
    void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context;
  (void)purpose;
  return curl_private_socket(address);
}

static inline CURLcode curl_set_private_sockets(CURL *easy) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, curl_open_private_socket);
}

typedef curl_socket_t (*curl_open_socket_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*curl_close_socket_callback)(void *_Nullable context, curl_socket_t descriptor);

// Both callbacks get the context; the first opens the socket with curl_private_socket. curl keeps the second with the
// connection and may call it long after the handle is gone.
static inline CURLcode curl_set_watched_sockets(
    CURL *easy, void *context, curl_open_socket_callback opens, curl_close_socket_callback closes) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opens);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closes);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
  return code;
}

// libcurl neither lets its user choose the protocols to offer by ALPN (RFC 7301) nor names the one negotiated, and uses
// HTTP/2 itself if it has negotiated it. OpenSSL has functions for both (SSL_CTX_set_alpn_protos(3)); they are those of the
// library that libcurl has loaded, whose headers need not be installed.
static inline void *_Nullable curl_openssl_function(const char *name) {
#ifdef RTLD_DEFAULT
  return dlsym(RTLD_DEFAULT, name);
#else
  return dlsym(NULL, name);
#endif
}

// NULL if libcurl uses another library, or has no TLS connection.
static inline const struct curl_tlssessioninfo *_Nullable curl_openssl_session(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return NULL;
  return session->backend == CURLSSLBACKEND_OPENSSL ? session : NULL;
}

// Calls back at each TLS handshake, which offers no protocols unless the callback adds them with curl_offer_http2.
static inline CURLcode curl_set_tls_callback(CURL *easy, void *context, curl_ssl_ctx_callback callback) {
  if (!curl_openssl_session(easy)) return CURLE_NOT_BUILT_IN;
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
  return code;
}

// Offers HTTP/2 and HTTP/1.1 in a handshake.
static inline void curl_offer_http2(void *handshake) {
  static const unsigned char protocols[] = "\x02h2\x08http/1.1";
  int (*offer)(void *, const unsigned char *, unsigned int) =
      (int (*)(void *, const unsigned char *, unsigned int))curl_openssl_function("SSL_CTX_set_alpn_protos");
  if (offer) offer(handshake, protocols, sizeof protocols - 1);
}

// Whether the server of a connection without a transfer chose HTTP/2. Receive or send first.
static inline bool curl_has_http2(CURL *easy) {
  const struct curl_tlssessioninfo *session = curl_openssl_session(easy);
  void (*get)(const void *, const unsigned char **, unsigned int *) =
      (void (*)(const void *, const unsigned char **, unsigned int *))curl_openssl_function("SSL_get0_alpn_selected");
  const unsigned char *name = NULL;
  unsigned int length = 0;
  if (session && session->internals && get) get(session->internals, &name, &length);
  return length == 2 && memcmp(name, "h2", 2) == 0;
}

static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_set_callbacks(
    CURLM *multi, void *context, curl_socket_callback socket, curl_multi_timer_callback timer) {
  CURLMcode code = CURLM_OK;
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return code;
}

// -1 if curl does not know.
static inline int64_t curl_get_offset(CURL *easy, CURLINFO info) {
  curl_off_t value = -1;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? (int64_t)value : -1;
}

// The socket of a connection without a transfer; -1 if there is none.
static inline curl_socket_t curl_get_socket(CURL *easy) {
  curl_socket_t value = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}

// -1 if curl does not know.
static inline long curl_get_long(CURL *easy, CURLINFO info) {
  long value = -1;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : -1;
}

static inline void *_Nullable curl_get_private(CURL *easy) {
  char *pointer = NULL;
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &pointer) == CURLE_OK ? pointer : NULL;
}

// The member of the union in a CURLMsg that is in use.
static inline CURLcode curl_message_result(const CURLMsg *message) {
  return message->data.result;
}
