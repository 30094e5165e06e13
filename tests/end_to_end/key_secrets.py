"""Key bytes are nowhere but where they belong: looks through everything that the tests before made."""
import base64
import json
import shutil

import determinism
import key_lifecycle
from harness import ROOT, WORK, variant

SHORT = 20         # bytes of a secret that count as the secret


def spellings(secret):
    """(form, bytes) of every way in which a secret could be written, at any offset of a longer text."""
    for start in {0, len(secret) - SHORT}:                       # a front or a back is as bad as the whole
        part = secret[start:start + SHORT]
        yield "raw", part
        yield "raw, reversed", part[::-1]
        yield "hexadecimal", part.hex().encode()
        yield "HEXADECIMAL", part.hex().upper().encode()
        yield "a list of numbers", ", ".join(map(str, part)).encode()
        yield "a list of numbers", ",".join(map(str, part)).encode()
        for shift in range(3):                                   # base64 of something longer that holds it: three alignments, ragged ends cut off
            text = base64.b64encode(bytes(shift) + part)
            whole = text[(4 if shift else 0):(len(part) + shift) // 3 * 4]
            yield "base64", whole
            yield "base64url", whole.replace(b"+", b"-").replace(b"/", b"_")


def found(secrets, files):
    """[what, form, file] for every secret in a file."""
    wanted = [(what, form, text) for what, secret in secrets for form, text in spellings(secret)]
    hits, looked = [], 0
    for path in files:
        data = path.read_bytes()
        looked += len(data)
        hits += [f"{what} as {form} in {path.name}" for what, form, text in wanted if text in data]
    return sorted(set(hits)), looked


def opened(path):
    """Parquet and compressed files hide what they hold: their contents, as text."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq
        return json.dumps(pq.ParquetFile(path).read().to_pylist(), default=str).encode()
    return b""


def search_works(suite, perimeter):
    """A search that finds nothing anywhere would pass everything."""
    secret = bytes(range(100, 132))
    place = WORK / "inputs" / "planted"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    plants = {"raw": b"xx" + secret + b"yy", "hex": f"key={secret.hex()}.".encode(), "upper": secret.hex().upper().encode(), "debug": f"Key({list(secret)})".encode(),
              "json": json.dumps(list(secret), separators=(",", ":")).encode(), "front": secret[:SHORT], "back": secret[-SHORT:]}
    plants |= {f"base64-{n}": base64.b64encode(bytes(n) + secret + b"tail") for n in range(4)} | {"base64url": base64.urlsafe_b64encode(b"?" + secret)}
    missed = []
    for name, data in plants.items():
        (place / name).write_bytes(data)
        if not found([("planted", secret)], [place / name])[0]:
            missed.append(name)
    (place / "none").write_bytes(b"nothing of it" * 100)
    suite.check("the search for keys finds one in every form", missed + found([("planted", secret)], [place / "none"])[0])
    shutil.rmtree(place)


def keys_are_nowhere(suite, perimeter):
    """Key files of the local provider and the keys that KMS unwrapped, in outputs, tables, plans, lists, logs at trace level, spill files, quarantine."""
    if not any((WORK / "spilled").glob("*.spill")):
        determinism.spilling(suite, perimeter)
    job = variant("secrets", "secrets")
    for command in (("run", job), ("run", job, "--json"), ("plan", job), ("plan", job, "--json"), ("check", job), ("keys", "list", WORK / "secrets" / "person.keyring.json"),
                    ("keys", "list", WORK / "secrets" / "person.keyring.json", "--json"), ("keys", "rotate", WORK / "secrets" / "person.keyring.json"), ("keys", "rewrap", WORK / "secrets" / "card.keyring.json")):
        done = perimeter(*command)
        suite.check(f"`{' '.join(str(c) if '/' not in str(c) else '…' for c in command)}` at trace level", [] if done.code == 0 else [done.last])
    demo = ROOT / "target" / "demo"
    everything = [p for place in (WORK, demo) if place.exists() for p in sorted(place.rglob("*")) if p.is_file() and not p.is_symlink()]
    key_files = [p for p in everything if p.name.endswith(".keyring.key")]
    others = [p for p in everything if p not in set(key_files)]
    secrets = [(f"the key file of {p.parent.name}", bytes.fromhex(p.read_text().strip())) for p in key_files] + key_lifecycle.SECRETS
    kinds = {kind: sum(1 for p in others if kind in str(p.relative_to(ROOT))) for kind in ("quarantine", "spilled", "logs", ".array_record", ".parquet", ".keyring.json")}
    suite.check("there is something of every kind to look at", [kind for kind, count in kinds.items() if not count], ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    hits, looked = found(secrets, others)
    suite.check("no key bytes in any file or anything that was said", hits, f"{len(secrets)} keys, {len(others)} files, {looked >> 20} MiB")
    inside = WORK / "inside.json"
    inside.write_bytes(b"\n".join(map(opened, others)))
    suite.check("nor in the cells of tables", found(secrets, [inside])[0])
    inside.unlink()
    modes = [f"{p.parent.name}/{p.name} {oct(p.stat().st_mode & 0o777)}" for p in key_files if p.stat().st_mode & 0o077]
    suite.check("key files are their owner's alone", modes)
