"""gunicorn's configuration for `Config/httpbin serve`."""

bind = "127.0.0.1:0"  # a free port
worker_class = "gthread"
workers = 1
threads = 16
keepalive = 75  # seconds; a client's pool should not race with our closing
timeout = 0  # /delay and /drip are no hanging workers
graceful_timeout = 1
loglevel = "warning"


def post_worker_init(worker):
    """The application is loaded and its socket listens: say where, on standard output."""
    host, port = worker.sockets[0].getsockname()
    print(f"listening on http://{host}:{port}", flush=True)
