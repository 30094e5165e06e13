#!/usr/bin/env python3
"""A stand-in for S3 and KMS: moto's server on a free loopback port, for as long as it is needed.

As a program:   moto.py COMMAND…     runs COMMAND with the AWS variables pointing at the server, and ends with its exit code
As a library:   with Moto() as aws:  aws.endpoint, aws.environment(), aws.client("s3")

The server is ended by its process id, whatever happens. It binds to 127.0.0.1 and nothing else. What moto's KMS does that the real one does not
(decrypting with disabled keys or a wrong but similar context) must not be asserted by any test.
"""
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

REGION = "us-east-1"


class Moto:
    """One server, from `with` to its end."""

    def __init__(self, log=None):
        self.log = log
        self.process = None
        self.endpoint = None

    def __enter__(self):
        for _ in range(5):                                       # the port could be taken between asking and binding
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            output = open(self.log, "ab") if self.log else subprocess.DEVNULL
            server = pathlib.Path(sys.executable).parent / "moto_server"
            self.process = subprocess.Popen([str(server), "-H", "127.0.0.1", "-p", str(port)], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            if self.log:
                output.close()
            self.endpoint = f"http://127.0.0.1:{port}"
            for _ in range(600):
                if self.process.poll() is not None:
                    break
                try:
                    urllib.request.urlopen(f"{self.endpoint}/moto-api/", timeout=5).read()
                    return self
                except OSError:
                    time.sleep(0.1)
            self.__exit__()
        raise RuntimeError("moto_server does not start")

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def environment(self):
        """What a program needs to talk to the server. Profiles and metadata services of the machine are switched off."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return clean | {"AWS_ENDPOINT_URL": self.endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION,
                        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
                        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NO_PROXY": "127.0.0.1"}

    def client(self, service):
        """A boto3 client of the server."""
        import boto3
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")


if __name__ == "__main__":
    with Moto() as aws:
        print(f"moto_server: {aws.endpoint}", file=sys.stderr, flush=True)
        sys.exit(subprocess.call(sys.argv[1:], env=aws.environment()))
