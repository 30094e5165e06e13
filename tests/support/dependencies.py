#!/usr/bin/env python3
"""Holds the dependencies in Cargo.lock against deny.toml: licences, bans, sources. Standard library only (Python 3.11).

usage: dependencies.py            from anywhere; runs `cargo metadata --locked` and `cargo tree` in the repository

It also looks whether tests need the binary's dependencies with other features than the binary itself: then everything that depends on them, most
of the build, would be compiled twice.

cargo-deny does this better (it reads licence texts, for one) and is used where it is installed; this runs everywhere.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def allowed(expression, allow):
    """Whether an SPDX expression can be met with licences of the list alone. `/` is the old way to write OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def take(*words):
        nonlocal position
        if position < len(tokens) and tokens[position] in words:
            position += 1
            return tokens[position - 1]
        return None

    def licence():
        nonlocal position
        if take("("):
            value = either()
            if not take(")"):
                raise ValueError(expression)
            return value
        name = tokens[position]
        position += 1
        if take("WITH"):
            name += " WITH " + tokens[position]
            position += 1
        return name in allow

    def both():
        value = licence()
        while take("AND"):
            value = licence() and value
        return value

    def either():
        value = both()
        while take("OR"):
            value = both() or value
        return value

    value = either()
    if position != len(tokens):
        raise ValueError(expression)
    return value


def features(*arguments):
    """Each package of a dependency tree with its features."""
    tree = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}", *arguments]
    lines = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found = collections.defaultdict(set)
    for line in filter(None, lines):
        package, _, enabled = line.removesuffix(" (*)").partition("\t")
        found[package].add(enabled)
    return found


def twice():
    """Packages of the binary that the tests would build again, with other features."""
    binary = features("--package", "perimeter", "--edges", "normal,build")
    tests = features("--workspace", "--edges", "normal,build,dev")
    return [f"features: {package} has {sorted(tests[package] ^ found)} in tests" for package, found in binary.items() if tests[package] != found]


def main():
    """The command."""
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    metadata = json.loads(subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, check=True, capture_output=True).stdout)
    own = set(metadata["workspace_members"])
    wrong = []
    versions = collections.defaultdict(set)
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        if package["id"] in own:
            for dependency in package["dependencies"]:
                if dependency["req"] == "*" and not dependency.get("path"):
                    wrong.append(f"bans: {name} takes any version of {dependency['name']}")
        elif (package["source"] or "path").removeprefix("registry+") not in rules["sources"]["allow-registry"]:
            wrong.append(f"sources: {name} comes from {package['source'] or 'a path'}")
        try:
            if not allowed(package["license"] or "none", rules["licenses"]["allow"]):
                wrong.append(f"licenses: {name} is under {package['license']}")
        except (ValueError, IndexError):
            wrong.append(f"licenses: {name} has the unreadable expression {package['license']}")
    for rule in rules["bans"]["deny"]:
        found = versions.get(rule["crate"], set())
        if rule.get("deny-multiple-versions") and len(found) > 1:
            wrong.append(f"bans: {rule['crate']} in {len(found)} versions: {', '.join(sorted(found))}")
        elif found and not rule.get("deny-multiple-versions"):
            wrong.append(f"bans: {rule['crate']}")
    wrong += twice()
    print("\n".join(wrong) or f"licences, bans and sources of {len(metadata['packages'])} packages agree with deny.toml")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
