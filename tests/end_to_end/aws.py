"""Source, sink, table, quarantine and keyring on S3, root keys from KMS, against moto's server. Nothing that moto gets wrong is asserted."""
import json
import shutil
import socket

import demo
from harness import RAW, ROOT, WORK, digests, interop, latest, manifest, variant

PLACE = WORK / "aws"


def aws_job(name, key="alias/perimeter-person"):
    """The demo's job with every place on S3 and its keys wrapped by KMS."""
    changes = [(f"{ROOT}/tests/data/demo/", "s3://raw/in/"), (f"{PLACE}/quarantine/", "s3://quarantine/cards/"), (f"{PLACE}/cards/", "s3://curated/cards/"),
               (f"{PLACE}/cards-table/", "s3://curated/cards-table/"),
               (f"provider: local, keyring: {PLACE}/person.keyring.json, create: true", f"provider: awsKms, keyId: {key}, keyring: s3://keys/person.keyring.json, version: 1"),
               (f"provider: local, keyring: {PLACE}/card.keyring.json, create: true", "provider: awsKms, keyId: alias/perimeter-card, keyring: s3://keys/card.keyring.json, version: 1")]
    return variant(name, "aws", *changes)


def download(s3, bucket, prefix, to):
    """Every object below a prefix, as files."""
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for item in page.get("Contents", []):
            path = to / item["Key"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())


def everything_on_aws(suite, perimeter):
    """One run with everything on S3 and KMS, its result read back."""
    from moto import Moto
    shutil.rmtree(PLACE, ignore_errors=True)
    with Moto(log=WORK / "moto.txt") as aws:
        s3, kms = aws.client("s3"), aws.client("kms")
        for bucket in ("raw", "curated", "quarantine", "keys"):
            s3.create_bucket(Bucket=bucket)
        for path in RAW:
            s3.put_object(Bucket="raw", Key=f"in/{path.name}", Body=path.read_bytes())
        for alias in ("alias/perimeter-person", "alias/perimeter-card"):
            kms.create_alias(AliasName=alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        env = {k: v for k, v in aws.environment().items() if k.startswith("AWS_") or k == "NO_PROXY"}
        job = aws_job("aws")
        for key in ("person", "card"):
            done = perimeter("keys", "create", f"s3://keys/{key}.keyring.json", "--kms-key", f"alias/perimeter-{key}", env=env)
            suite.check(f"`keys create` makes the keyring of {key} on S3, wrapped by KMS", [] if done.code == 0 else [done.last])
        keyring = s3.get_object(Bucket="keys", Key="person.keyring.json")["Body"].read()
        suite.check("the keyring is JSON with the wrapped key", [] if isinstance(json.loads(keyring), dict) else ["no object"])
        done = perimeter("keys", "create", "s3://keys/person.keyring.json", "--kms-key", "alias/perimeter-person", env=env)
        suite.check("`keys create` never replaces a keyring", [] if done.code != 0 and s3.get_object(Bucket="keys", Key="person.keyring.json")["Body"].read() == keyring else [done.last])
        done = perimeter("keys", "list", "s3://keys/person.keyring.json", env=env)
        suite.check("`keys list` shows them", [] if done.code == 0 else [done.last])

        done = perimeter("run", job, env=env)
        if not suite.check("the demo runs with source, sink, table, quarantine and keyrings on S3", [] if done.code == 0 else [done.last]):
            return
        download(s3, "curated", "", PLACE / "copy")
        version = latest(PLACE / "copy" / "cards")
        found = manifest(version)
        local = manifest(latest(demo.CARDS))
        suite.equal("the run on S3 counts what the local one counts", (found["rows"], found["rejections"]), (local["rows"], local["rejections"]))
        suite.check("a keyring from `keys create` under KMS is named in the manifest with its version", [] if "person" in json.dumps(found["keys"]) else [found["keys"]])
        interop(suite, "S3", version)
        quarantined = s3.list_objects_v2(Bucket="quarantine").get("Contents", [])
        suite.check("the rejected rows are in the quarantine's bucket", [] if quarantined and all(o["Size"] for o in quarantined) else ["empty"])
        download(s3, "quarantine", "", PLACE / "copy" / "quarantine")
        download(s3, "keys", "", PLACE / "copy" / "keys")
        uri = f"s3://curated/cards/{version.name}/manifest.json"
        done = perimeter("verify", uri, env=env)
        suite.check("`verify` reads it from S3", [] if done.code == 0 else [done.last])
        done = perimeter("run", job, env=env)
        suite.check("a second run on S3", [] if done.code == 0 else [done.last])
        download(s3, "curated", "cards/", PLACE / "copy")
        second = latest(PLACE / "copy" / "cards")
        suite.check("makes a second version with the same shards", [] if second != version and digests(second) == digests(version) else [f"{second.name}"])
        shard = next(s["path"] for s in found["shards"] if s["records"])
        key = f"cards/{version.name}/{shard}"
        data = bytearray(s3.get_object(Bucket="curated", Key=key)["Body"].read())
        data[len(data) // 3] ^= 4
        s3.put_object(Bucket="curated", Key=key, Body=bytes(data))
        done = perimeter("verify", uri, env=env)
        suite.check("`verify` finds a flipped bit on S3", [] if done.code == 1 else [done.last])


def refusals(suite, perimeter):
    """Exit codes 3 and 4: what is outside fails for now, or says no."""
    from moto import Moto
    with Moto(log=WORK / "moto.txt") as aws:
        s3, kms = aws.client("s3"), aws.client("kms")
        env = {k: v for k, v in aws.environment().items() if k.startswith("AWS_") or k == "NO_PROXY"}
        for bucket in ("raw", "curated", "quarantine", "keys"):
            s3.create_bucket(Bucket=bucket)
        for path in RAW:
            s3.put_object(Bucket="raw", Key=f"in/{path.name}", Body=path.read_bytes())
        done = perimeter("keys", "create", "s3://keys/nobody.keyring.json", "--kms-key", "alias/nobody", env=env)
        suite.check("a KMS key that does not exist: exit code 2 or 4, and no keyring", ([] if done.code in (2, 4) else [done.last]) + [o["Key"] for o in s3.list_objects_v2(Bucket="keys").get("Contents", [])])
        done = perimeter("run", aws_job("no-keyring"), env=env)
        suite.check("a keyring that was never made ends the run before anything is read", ([] if done.code in (2, 4) else [done.last]) + [o["Key"] for o in s3.list_objects_v2(Bucket="curated").get("Contents", [])])
        for alias in ("alias/perimeter-person", "alias/perimeter-card"):
            kms.create_alias(AliasName=alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        job = aws_job("refusals")
        for key in ("person", "card"):
            perimeter("keys", "create", f"s3://keys/{key}.keyring.json", "--kms-key", f"alias/perimeter-{key}", env=env)
        s3.delete_bucket(Bucket="curated")
        done = perimeter("run", job, env=env)
        suite.check("a sink whose bucket does not exist: exit code 2 or 4 (running again does not help), with its name", [] if done.code in (2, 4) and "curated" in done.err else [done.last])
        s3.create_bucket(Bucket="curated")
        body = s3.get_object(Bucket="keys", Key="person.keyring.json")["Body"].read()
        text = json.loads(body)
        s3.put_object(Bucket="keys", Key="person.keyring.json", Body=json.dumps(flip(text)).encode())
        done = perimeter("run", job, env=env)
        suite.check("a keyring that was changed is refused", ([] if done.code in (2, 4) else [done.last]) + [o["Key"] for o in s3.list_objects_v2(Bucket="curated").get("Contents", [])])
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    done = perimeter("run", job, env=env | {"AWS_ENDPOINT_URL": nobody, "AWS_MAX_ATTEMPTS": "2"})
    suite.check("an endpoint that nobody answers is a failure for now (exit code 3)", [] if done.code == 3 else [done.last])


def flip(value):
    """The same JSON with one character of its longest text changed: the wrapped key, in a keyring."""
    texts = []

    def walk(node, path):
        if isinstance(node, str):
            texts.append((len(node), path))
        for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            walk(child, (*path, key))

    walk(value, ())
    path = max(texts, key=lambda t: t[0])[1]
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    text = holder[path[-1]]
    middle = len(text) // 2
    holder[path[-1]] = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1:]
    return value
