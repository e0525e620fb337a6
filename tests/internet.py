"""An internet on this machine: a proxy that answers for every address of config/data.yaml.

Programs that find it in their variables ask for the real addresses, over https. The data sets
behind them have the formats of the real ones, random numbers, and few rows.
"""

import bz2
import hashlib
import io
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import yaml
from archives import zipped
from scipy.io import wavfile
from workbooks import xls, xlsx

from vwta.paper.audio.ansyn import COLUMNS, OVERLAPS, RATE, SPLITS
from vwta.paper.uci import datasets
from vwta.paper.uci.regression import matrix_sha256

ROWS = 60
INDEX = "https://index.example/simple"  # of packages


class Internet(ThreadingHTTPServer):
    """Answers by address; `seen` has all that were asked for."""

    def __init__(self, answers: Mapping[str, bytes], folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.answers = answers
        self.seen: list[str] = []
        self.certificate = folder / "certificate.pem"
        hosts = sorted({f"DNS:{urlsplit(address).hostname}" for address in answers})
        make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=internet"
        make += f" -addext subjectAltName={','.join(hosts)}"
        files = ["-keyout", folder / "key.pem", "-out", self.certificate]
        subprocess.run([*make.split(), *files], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, folder / "key.pem")

    @property
    def variables(self) -> dict[str, str]:
        """With which downloads and pip find it, and nothing else."""
        proxy = f"http://127.0.0.1:{self.server_port}"
        proxies = dict.fromkeys(("https_proxy", "HTTPS_PROXY"), proxy)
        trusted = dict.fromkeys(("REQUESTS_CA_BUNDLE", "PIP_CERT"), str(self.certificate))
        none = dict.fromkeys(("no_proxy", "NO_PROXY", "PIP_FIND_LINKS", "VWTA_MIRROR"), "")
        pip = {"PIP_INDEX_URL": INDEX, "PIP_EXTRA_INDEX_URL": "", "PIP_CONFIG_FILE": "/dev/null"}
        return {**proxies, **trusted, **none, **pip, "PIP_NO_CACHE_DIR": "1"}


class Visit(BaseHTTPRequestHandler):
    """Speaks as the host that a client asks the proxy for."""

    server: Internet

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        host = self.path.removesuffix(":443")
        with self.server.context.wrap_socket(self.connection, server_side=True) as secure:
            with secure.makefile("rb") as asked:
                _, path, _ = asked.readline().decode().split(" ")
                while asked.readline().strip():
                    pass
            address = f"https://{host}{path}"
            self.server.seen.append(address)
            body = self.server.answers.get(address)
            status = "404 Not Found" if body is None else "200 OK"
            kind = "text/html" if path.endswith("/") else "application/octet-stream"
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body or b'')}"]
            lines += [f"Content-Type: {kind}", "Connection: close", "", ""]
            secure.sendall("\r\n".join(lines).encode() + (body or b""))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def internet(answers: Mapping[str, bytes], folder: Path) -> Iterator[Internet]:
    """The proxy, for a while."""
    with Internet(answers, folder) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def publish(tree: Path, folder: Path, silent: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Makes all data sets, and writes their checksums into the table of a copy of the repository.

    Arguments:
        tree: the copy.
        folder: an empty one.
        silent: names of data sets whose first address does not know them any more.

    Returns:
        What is at each address.
    """
    path = tree / "config/data.yaml"
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    answers: dict[str, bytes] = {}
    packages: dict[tuple[str, str], dict[str, bytes]] = {}
    for name in datasets.FORMATS:
        entry = table["uci"][name]
        file = entry["file"]
        place = folder / Path(file["path"]).name
        write(name, place)
        content = place.read_bytes()
        matrix, _ = datasets.FORMATS[name].read(place)
        entry["rows"] = ROWS
        if "matrix" in entry:
            entry["matrix"] = matrix_sha256(matrix)
        file["checksums"] = [f"sha256:{hashlib.sha256(content).hexdigest()}"]
        file["bytes"] = len(content)
        for source in file["sources"][name in silent :]:
            if "package" in source:
                package = packages.setdefault((source["package"], source["version"]), {})
                package[source["member"]] = content
            else:
                archive = zipped({source["member"]: content}) if "member" in source else content
                answers[source["url"]] = archive
    for (name, version), members in packages.items():
        answers |= wheel(name, version, members)
    answers |= record(table["audio"]["ansyn"]["record"])
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    return answers


def wheel(name: str, version: str, members: Mapping[str, bytes]) -> dict[str, bytes]:
    """What is at the addresses of a package: a page of the index, and a wheel."""
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    facts = {f"{name}-{version}.dist-info/{key}": text.encode() for key, text in about.items()}
    file = f"{name}-{version}-py3-none-any.whl"
    page = f'<a href="{INDEX}/{file}">{file}</a>'.encode()
    return {f"{INDEX}/{name}/": page, f"{INDEX}/{file}": zipped({**members, **facts})}


def write(name: str, path: Path) -> None:
    """The file of a UCI data set, in its format."""
    numbers = np.random.default_rng(len(name)).integers(-9_999, 9_999, (ROWS, 92)) / 1000
    rows = numbers[:, : datasets.FORMATS[name].columns].tolist()
    header = [f"column {index}" for index in range(len(rows[0]))]
    if name == "concrete":
        xls(path, [header, *rows])
    elif name == "energy":
        both = [[*row, 0.0] for row in rows]  # the cooling load, which is not used
        xlsx(path, {"Sheet1": [[*header, "cooling"], *both]})
    elif name == "power":
        xlsx(path, {f"Sheet{index}": [header, *rows] for index in range(1, 6)})
    elif path.suffix == ".bz2":
        names = {"twoyear": datasets.TWOYEAR, "k401ksubs": datasets.K401KSUBS}
        header = names.get(name, datasets.CATHOLIC).split(", ")
        path.write_bytes(bz2.compress(lines([header, *rows], ",").encode()))
    elif name == "diamonds":
        words = [[of.split(", ")[0] for of in datasets.ORDERS.values()] for _ in rows]
        full = [[row[0], *some, *row[4:]] for row, some in zip(rows, words, strict=True)]
        path.write_text(lines([datasets.DIAMONDS.split(", "), *full], ","))
    else:
        delimiter = {"wine": ";", "kin8nm": ",", "protein": ",", "year": ","}.get(name)
        above = [header] if delimiter and name != "year" else []
        path.write_text(lines([*above, *rows], delimiter or " "))


def lines(rows: list[list[Any]], delimiter: str) -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def record(address: str) -> dict[str, bytes]:
    """What is at the address of ANSYN's record, and at those of its archives."""
    files, answers = [], {}
    for overlap in OVERLAPS:
        for split in SPLITS:
            name, content = f"ov{overlap}_split{split}.zip", scenes(overlap, split)
            checksum = f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
            own = f"{address}/files/{name}/content"
            page = f"{address.replace('/api/records/', '/records/')}/files/{name}"
            files.append({"key": name, "size": len(content), "checksum": checksum})
            files[-1] |= {"links": {"self": own}}
            answers[page if split < 3 else own] = content
    return answers | {address: json.dumps({"files": files}).encode()}


def scenes(overlap: int, split: int) -> bytes:
    """An archive in ANSYN's format: two scenes of a second for each part."""
    members = {}
    rng = np.random.default_rng((overlap, split))
    for part in ("train", "test"):
        for number in (1, 2):
            name = f"{part}_{number}_desc_30_100"
            sounds = [
                f"speech001.wav,0.0,0.9,{10 * split - 30},{30 * number - 90 * place},2.5"
                for place in range(overlap)
            ]
            described = "\n".join([",".join(COLUMNS), *sounds]).encode()
            recorded = io.BytesIO()
            wavfile.write(recorded, RATE, rng.integers(-999, 999, (RATE, 4), dtype=np.int16))
            members[f"wav_ov{overlap}_split{split}_30db/{name}.wav"] = recorded.getvalue()
            members[f"desc_ov{overlap}_split{split}/{name}.csv"] = described
    return zipped(members)
