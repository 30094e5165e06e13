"""A KMS that answers every call with one error code: what moto cannot play. With its own count of calls, to see who was asked again."""
import http.server
import json
import threading


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
