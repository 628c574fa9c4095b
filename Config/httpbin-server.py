"""gunicorn's configuration for `Config/httpbin serve`."""

bind = "127.0.0.1:0"  # a free port
worker_class = "gthread"
workers = 1
threads = 16
keepalive = 75  # seconds; long, so that no client reuses a connection while it is being closed
timeout = 0  # /delay and /drip do not count as hanging workers
graceful_timeout = 1
loglevel = "warning"


def post_worker_init(worker):
    """Prints the address once the application is loaded and its socket listens."""
    host, port = worker.sockets[0].getsockname()
    print(f"listening on http://{host}:{port}", flush=True)
