#!/usr/bin/env python3
"""Makes the demo's data: card transactions of a Brazilian bank that does not exist, and the accounts they belong to.

usage: generate.py [--check] [OUT_DIR]      (default: the folder `demo` beside this file)

Standard library only; the Parquet twin is written (or compared) when pyarrow is there, and said to be skipped when it is not.
`--check` writes nothing: it fails when the committed files are not what this script makes (csv and markdown byte for byte,
Parquet by content, because its bytes belong to the writer's version).

Every person, number and address is made up. Taxpayer and card numbers are random bodies with right check digits: that is what
makes them useful here, and what makes it unavoidable that some may coincide with numbers that exist. E-mail domains are reserved ones.

The faults are put in on purpose and listed in FAULTS.md, which this script writes as well.
"""
import datetime as dt
import io
import pathlib
import random
import sys
from decimal import Decimal

SEED = 20261130
ACCOUNTS = 120
ROWS = 3000
START = dt.datetime(2025, 1, 1)
DAYS = 365
UTC_OFFSET = dt.timedelta(hours=3)  # Brasília has been UTC-3 without daylight saving since 2019

FIRST = ("Ana Maria João José Antônio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Gabriel Rafael Juliana Fernanda Patrícia Aline Sandra "
         "Camila Amanda Bruna Jéssica Letícia Luciana Vanessa Mariana Thiago Felipe Rodrigo Gustavo André Fábio Eduardo Conceição").split()
LAST = ("Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida Lopes Soares "
        "Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes Freitas Cardoso Ramos Gonçalves "
        "Teixeira Araújo Pinto Moura Castro Correia").split()
# city, first three digits of its postal codes (CEP), telephone area code
CITIES = [("São Paulo", "013", "11"), ("Rio de Janeiro", "200", "21"), ("Belo Horizonte", "301", "31"), ("Curitiba", "800", "41"),
          ("Porto Alegre", "900", "51"), ("Salvador", "400", "71"), ("Recife", "500", "81"), ("Fortaleza", "600", "85"),
          ("Brasília", "700", "61"), ("Manaus", "690", "92"), ("Goiânia", "740", "62"), ("Campinas", "130", "19"), ("Florianópolis", "880", "48")]
DOMAINS = ["example.com", "example.org", "mail.example.net", "correio.example"]
BINS = ["411111", "453998", "476173", "510510", "528745", "543210", "552289", "650485", "401178", "438935", "222345"]
# merchant category code, what it is, median amount in reais
MERCHANTS = [(5411, "supermercado", 180), (5812, "restaurante", 70), (5541, "posto de combustível", 150), (5912, "farmácia", 60),
             (5814, "lanchonete", 35), (4111, "metrô", 9), (4121, "táxi", 28), (5311, "loja de departamentos", 220), (4814, "recarga de celular", 30),
             (4899, "assinatura de tv", 95), (7011, "hotel", 480), (742, "veterinário", 160), (763, "cooperativa agrícola", 900),
             (8062, "hospital", 1200), (8211, "escola", 1500), (5732, "loja de eletrônicos", 1100)]
STATUS = [("SETTLED", 0.93), ("PENDING", 0.03), ("REVERSED", 0.025), ("DECLINED", 0.015)]
COLUMNS = ["tx_id", "account_id", "cpf", "pan", "holder_name", "email", "phone", "booked_at", "amount", "currency", "mcc", "merchant_city",
           "zip", "status", "memo"]
PLAIN = str.maketrans("áàâãçéêíóôõúÁÉÍÓÚÇ", "aaaaceeiooouAEIOUC")


class Dice:
    """Draws that are the same in every Python version: only `Random.random` is promised to stay as it is."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, n):
        """An integer in 0 .. n."""
        return int(self.random() * n)

    def digits(self, n):
        """A text of n decimal digits."""
        return "".join(str(self.below(10)) for _ in range(n))

    def one(self, items):
        """One of the items."""
        return items[self.below(len(items))]

    def weighted(self, pairs):
        """One of the items, by its weight."""
        x = self.random() * sum(w for _, w in pairs)
        for item, weight in pairs:
            x -= weight
            if x < 0:
                return item
        return pairs[-1][0]

    def hexadecimal(self, n):
        """A text of n lower-case hexadecimal digits."""
        return "".join("0123456789abcdef"[self.below(16)] for _ in range(n))


def cpf_digits(body):
    """The CPF with this nine-digit body."""
    for _ in range(2):
        rest = sum((len(body) + 1 - i) * int(c) for i, c in enumerate(body)) % 11
        body += "0" if rest < 2 else str(11 - rest)
    return body


def luhn_digit(body):
    """The check digit that makes `body` plus it a valid Luhn number."""
    total = 0
    for i, c in enumerate(reversed(body)):
        x = int(c) * (2 if i % 2 == 0 else 1)
        total += x - 9 if x > 9 else x
    return str(-total % 10)


def person(dice, number):
    """One customer with an account, some cards and a way to be reached (or none)."""
    first, last = dice.one(FIRST), dice.one(LAST) + " " + dice.one(LAST)
    city, cep, area = dice.one(CITIES)
    body = dice.digits(9) if number % 10 else "00" + dice.digits(7)  # a tenth of the CPFs start with zeros, as real ones do
    handle = f"{first}.{last.split()[-1]}{dice.below(1000):03}".translate(PLAIN).lower()
    bodies = [dice.one(BINS) + dice.digits(9) for _ in range(1 + dice.below(3))]
    branch = f"{1 + dice.below(400):04}"
    account = dice.digits(8)
    return {
        "account_id": f"{branch}-{account}-{luhn_digit(account)}",
        "branch": branch,
        "cpf": cpf_digits(body),
        "pans": [b + luhn_digit(b) for b in bodies],
        "holder_name": f"{first} {last}",
        "email": f"{handle}@{dice.one(DOMAINS)}" if dice.random() < 0.9 else "",
        "phone": f"+55{area}9{dice.digits(8)}" if dice.random() < 0.85 else "",
        "city": city,
        "zip": cep + dice.digits(5),
        "opened_on": dt.date(2010, 1, 1) + dt.timedelta(days=dice.below(14 * 365)),
        "birth_date": dt.date(1945, 1, 1) + dt.timedelta(days=dice.below(58 * 365)),
    }


def memo(dice, who, what):
    """What people write into a free text field, identifiers of their own included."""
    kind = dice.random()
    if kind < 0.45:
        return ""
    if kind < 0.70:
        return f"{what} ref {dice.digits(6)}"
    if kind < 0.80:
        return f'{what}, parcela {1 + dice.below(10)} de 10, "sem juros"'
    if kind < 0.86:
        c = who["cpf"]
        return f"cpf na nota {c[:3]}.{c[3:6]}.{c[6:9]}-{c[9:]}"
    if kind < 0.91:
        return f"reembolso para {who['holder_name']}"
    if kind < 0.95 and who["email"]:
        return f"recibo enviado a {who['email']}"
    if kind < 0.98:
        return f"{what}\nendereço de entrega: cep {who['zip'][:5]}-{who['zip'][5:]}"  # a line break inside quotes: one record, two lines
    return f"estorno do cartão {who['pans'][0]}"


def transactions(dice, people):
    """All rows, in the order of time, as texts by column."""
    weights = [(p, (i + 2) ** -1.0) for i, p in enumerate(people)]
    seconds = sorted(dice.below(DAYS * 86400) for _ in range(ROWS))
    rows = []
    for second in seconds:
        who = dice.weighted(weights)
        mcc, what, median = dice.one(MERCHANTS)
        cents = max(1, round(median * 100 * 2 ** (4 * dice.random() - 2)))
        at_home = dice.random() < 0.85
        rows.append({
            "tx_id": f"{dice.hexadecimal(8)}-{dice.hexadecimal(4)}-4{dice.hexadecimal(3)}-a{dice.hexadecimal(3)}-{dice.hexadecimal(12)}",
            "account_id": who["account_id"],
            "cpf": who["cpf"],
            "pan": dice.one(who["pans"]),
            "holder_name": who["holder_name"],
            "email": who["email"],
            "phone": who["phone"],
            "booked_at": (START + dt.timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S"),
            "amount": f"{cents // 100}.{cents % 100:02}",
            "currency": "BRL" if dice.random() < 0.97 else "USD",
            "mcc": f"{mcc:04}",
            "merchant_city": who["city"] if at_home else dice.one(CITIES)[0],
            "zip": who["zip"],
            "status": dice.weighted(STATUS),
            "memo": memo(dice, who, what),
        })
    return rows


def other_digit(text, position=-1):
    """The text with the digit at `position` changed, so that its check digit is wrong."""
    i = position % len(text)
    return text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1:]


# (record from 1, column, rule code, what is wrong, change of the row's texts). A change that only text can carry is not in the Parquet twin.
TYPED = [
    (41, "cpf", "check-digit", "last digit changed", lambda v: other_digit(v)),
    (412, "cpf", "check-digit", "first check digit changed", lambda v: other_digit(v, 9)),
    (1203, "cpf", "check-digit", "eleven equal digits", lambda v: "11111111111"),
    (2750, "cpf", "check-digit", "last digit changed", lambda v: other_digit(v)),
    (77, "pan", "check-digit", "last digit changed", lambda v: other_digit(v)),
    (903, "pan", "check-digit", "two neighbours swapped", lambda v: swap(v)),
    (1811, "pan", "check-digit", "last digit changed", lambda v: other_digit(v)),
    (2222, "pan", "pattern", "a digit is missing", lambda v: v[:-1]),
    (2222, "pan", "check-digit", "and so the check digit is wrong too", lambda v: v),
    (150, "tx_id", "required", "missing", lambda v: ""),
    (600, "amount", "required", "missing", lambda v: ""),
    (1500, "booked_at", "required", "missing", lambda v: ""),
    (2400, "cpf", "required", "missing", lambda v: ""),
    (333, "amount", "minimum", "zero", lambda v: "0.00"),
    (1020, "amount", "minimum", "negative", lambda v: "-" + v),
    (2010, "amount", "maximum", "above one million", lambda v: "1000000.01"),
    (505, "status", "valid-values", "a status that the contract does not know", lambda v: "SETLED"),
    (1717, "status", "valid-values", "lower case", lambda v: "settled"),
    (2600, "mcc", "maximum", "five digits", lambda v: "15411"),
    (1313, "cpf", "check-digit", "last digit changed (see the next line: one row, two rules)", lambda v: other_digit(v)),
    (1313, "pan", "check-digit", "last digit changed", lambda v: other_digit(v)),
]
TEXT_ONLY = [
    (222, "booked_at", "type", "a day that does not exist", lambda v: "2025-02-30 10:00:00"),
    (1111, "booked_at", "type", "another format", lambda v: f"{v[8:10]}/{v[5:7]}/{v[:4]} {v[11:]}"),
    (2888, "booked_at", "type", "an hour that does not exist", lambda v: v[:11] + "24:61:00"),
    (818, "amount", "type", "decimal comma", lambda v: v.replace(".", ",")),
    (1616, "amount", "type", "three decimals", lambda v: v + "5"),
]
INVALID_UTF8 = [(707, "holder_name"), (2121, "memo")]
RAGGED = [(999, "a field too few"), (1919, "a field too many")]
ACCOUNT_FAULTS = [
    (33, "cpf", "check-digit", "last digit changed", lambda v: other_digit(v)),
    (88, "birth_date", "type", "a day that does not exist", lambda v: "30/02/1980"),
]


def swap(v):
    """Swaps the first two neighbours whose exchange Luhn notices (it cannot see 09 against 90)."""
    for i in range(len(v) - 2, 0, -1):
        if v[i] != v[i + 1] and {v[i], v[i + 1]} != {"0", "9"}:
            return v[:i] + v[i + 1] + v[i] + v[i + 2:]
    return other_digit(v)


def cell(text, delimiter=","):
    """One csv cell, quoted where it must be."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in delimiter + '"\r\n') else text


def transactions_csv(rows):
    """The bytes of card_transactions.csv, faults included."""
    out = io.BytesIO()
    out.write((",".join(COLUMNS) + "\n").encode())
    latin, ragged = dict(INVALID_UTF8), dict(RAGGED)
    for number, row in enumerate(rows, 1):
        cells = [cell(row[c]).encode() for c in COLUMNS]
        if number in latin:
            i = COLUMNS.index(latin[number])
            cells[i] = b"Concei\xe7\xe3o" if latin[number] == "holder_name" else b"presente de anivers\xe1rio"  # Latin-1
        if number in ragged:
            cells = cells[:-2] if ragged[number] == "a field too few" else cells + [b"x"]
            if ragged[number] == "a field too few":
                cells.append(cell(row["memo"]).encode())  # the status is what is missing: every later field has moved
        out.write(b",".join(cells) + b"\n")
    return out.getvalue()


def accounts_csv(people):
    """The bytes of accounts.csv: semicolons, dates as Brazil writes them."""
    lines = ["account_id;cpf;opened_on;branch;birth_date"]
    for number, p in enumerate(sorted(people, key=lambda p: p["account_id"]), 1):
        row = {"account_id": p["account_id"], "cpf": p["cpf"], "opened_on": p["opened_on"].strftime("%d/%m/%Y"), "branch": p["branch"],
               "birth_date": p["birth_date"].strftime("%d/%m/%Y")}
        for record, column, _, _, change in ACCOUNT_FAULTS:
            if record == number:
                row[column] = change(row[column])
        lines.append(";".join(cell(v, ";") for v in row.values()))
    return ("\n".join(lines) + "\n").encode()


def transactions_table(rows):
    """The same rows as a typed Arrow table. What only text can get wrong is right here."""
    import pyarrow as pa

    def texts(column):
        return [r[column] or None for r in rows]

    def instant(text):
        local = dt.datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
        return (local + UTC_OFFSET).replace(tzinfo=dt.timezone.utc)

    columns = {}
    for c in COLUMNS:
        v = texts(c)
        if c == "booked_at":
            columns[c] = pa.array([x and instant(x) for x in v], pa.timestamp("us", tz="UTC"))
        elif c == "amount":
            columns[c] = pa.array([x and Decimal(x) for x in v], pa.decimal128(18, 2))
        elif c == "mcc":
            columns[c] = pa.array([x and int(x) for x in v], pa.int32())
        else:
            columns[c] = pa.array(v, pa.string())
    return pa.table(columns)


def faults_md():
    """FAULTS.md: every fault, by file and record."""
    lines = ["# Faults in the demo's data", "",
             "Made by `../generate.py`; do not edit. A record is counted from 1, the header left out; a line break inside quotes does not end one.",
             "`rule` is the code that the run's report counts the row under. Faults of `type`, `ragged` and `invalid-encoding` exist in text only: in the",
             "Parquet twin the same records are sound.", "",
             "| file | record | column | rule | what is wrong |", "|---|---|---|---|---|"]
    faults = [("card_transactions.csv, .parquet", r, c, k, w) for r, c, k, w, _ in TYPED]
    faults += [("card_transactions.csv", r, c, k, w) for r, c, k, w, _ in TEXT_ONLY]
    faults += [("card_transactions.csv", r, c, "invalid-encoding", "Latin-1 bytes") for r, c in INVALID_UTF8]
    faults += [("card_transactions.csv", r, "-", "ragged", w) for r, w in RAGGED]
    faults += [("accounts.csv", r, c, k, w) for r, c, k, w, _ in ACCOUNT_FAULTS]
    faults.sort(key=lambda f: (f[0] == "accounts.csv", f[1]))
    lines += [f"| {f} | {r} | {c} | {k} | {w} |" for f, r, c, k, w in faults]
    csv_rows = {f[1] for f in faults if f[0] != "accounts.csv"}
    parquet_rows = {f[1] for f in faults if "parquet" in f[0]}
    lines += ["", f"Rows rejected: card_transactions.csv {len(csv_rows)} of {ROWS}, card_transactions.parquet {len(parquet_rows)} of {ROWS}, "
                  f"accounts.csv {len(ACCOUNT_FAULTS)} of {ACCOUNTS}.", ""]
    return "\n".join(lines).encode()


def make():
    """The files by name, and the rows that the Parquet twin is made of."""
    dice = Dice(SEED)
    people = [person(dice, i) for i in range(ACCOUNTS)]
    rows = transactions(dice, people)
    for record, column, _, _, change in TYPED:
        rows[record - 1][column] = change(rows[record - 1][column])
    typed = [dict(r) for r in rows]
    for record, column, _, _, change in TEXT_ONLY:
        rows[record - 1][column] = change(rows[record - 1][column])
    return {"card_transactions.csv": transactions_csv(rows), "accounts.csv": accounts_csv(people), "FAULTS.md": faults_md()}, typed


def main():
    """Writes the files or, with --check, compares them."""
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = "--check" in sys.argv[1:]
    out = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent / "demo"
    files, typed = make()
    different = []
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not check:
            (out / name).write_bytes(content)
        elif not (out / name).exists() or (out / name).read_bytes() != content:
            different.append(name)
    try:
        import pyarrow.parquet as pq
    except ImportError:
        print("skipped: card_transactions.parquet (no pyarrow)")
    else:
        table, path = transactions_table(typed), out / "card_transactions.parquet"
        if not check:
            pq.write_table(table, path, compression="zstd", row_group_size=1000, store_schema=False)
        elif not path.exists() or not pq.read_table(path).equals(table):
            different.append(path.name)
    for name in different:
        print(f"not what generate.py makes: {name}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
