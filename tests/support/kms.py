"""Two KMS endpoints that moto is not: one that answers every call with one error code, one that hands calls on and remembers them."""
import http.server
import json
import threading
import urllib.error
import urllib.request


class KmsSaysNo:
    """`with KmsSaysNo("DisabledException") as kms: kms.endpoint, kms.calls`"""

    def __init__(self, code, status=400):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                self.calls += 1
                body = json.dumps({"__type": code, "message": "a message"}).encode()
                handler.send_response(status)
                handler.send_header("Content-Type", "application/x-amz-json-1.1")
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *_):
                pass

        self.calls = 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class KmsCounted:
    """Hands every call on to a real endpoint and keeps (operation, request): `with KmsCounted(aws.endpoint) as kms: kms.endpoint, kms.calls`"""

    def __init__(self, target):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                self.calls.append((handler.headers["X-Amz-Target"].rpartition(".")[2], json.loads(body)))
                headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("host", "content-length", "connection")}
                try:
                    answer = urllib.request.urlopen(urllib.request.Request(target, body, headers), timeout=60)
                except urllib.error.HTTPError as error:
                    answer = error
                content = answer.read()
                handler.send_response(answer.status)
                handler.send_header("Content-Type", "application/x-amz-json-1.1")
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(handler, *_):
                pass

        self.calls = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"

    __enter__ = KmsSaysNo.__enter__
    __exit__ = KmsSaysNo.__exit__
