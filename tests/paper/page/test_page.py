"""The page: all that is known stands in one file, as text that cannot be mistaken for HTML."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from vwta.paper.page import build as building
from vwta.paper.page.build import build, render
from vwta.paper.page.contents import Contents, read_sheet
from vwta.paper.page.sources import bibtex
from vwta.paper.page.words import short
from vwta.paper.studies import study_of
from vwta.web.markup import Html, as_json, element

LOADING = {"src", "srcset", "poster", "action", "background"}


class Reader(HTMLParser):
    """Keeps elements with their attributes, and the text of the page without scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "input", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += data
        elif self.open and self.open[-1] == "script" and self.elements[-1] == ("script", {}):
            self.scripts.append(data)


@pytest.fixture
def page(contents: Contents) -> Reader:
    return Reader(render(contents))


def test_elements_escape_text() -> None:
    assert element("p", "<b>", Html("<i></i>"), title='"') == (
        '<p title="&quot;">&lt;b&gt;<i></i></p>'
    )
    assert element("input", hidden=True, value=None) == "<input hidden>"


def test_json_cannot_end_its_script() -> None:
    text = as_json({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}
    with pytest.raises(ValueError, match="JSON"):
        as_json(float("nan"))


def test_page_is_well_formed(page: Reader) -> None:
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    linked = {a["href"] for name, a in page.elements if name == "a" and "download" not in a}
    assert {str(link) for link in linked} <= {f"#{name}" for name in ids}
    assert all("alt" in attributes for name, attributes in page.elements if name == "img")


def test_page_says_what_is_of_other_code(page: Reader, contents: Contents) -> None:
    assert "files are stale" not in page.text
    verified = "a.parquet: stale\n  evaluate: other code\n1 of 3 files are stale"
    text = Reader(render(dataclasses.replace(contents, verified=verified))).text
    assert "data of this page's revision: 1 of 3 files are stale" in text
    assert "a.parquet: stale\n  evaluate: other code" in text


def test_page_loads_nothing(page: Reader, contents: Contents) -> None:
    for name, attributes in page.elements:
        assert name not in {"link", "iframe", "object", "embed", "base"}
        for key in LOADING & attributes.keys():
            assert str(attributes[key]).startswith("data:")
    text = render(contents)
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|\bimport\(|fetch\(|XMLHttpRequest|WebSocket", text)


def test_policy_names_every_script(page: Reader) -> None:
    """A browser runs the scripts with these hashes, and no other: not one that got in somehow."""
    (policy,) = [
        str(attributes["content"])
        for name, attributes in page.elements
        if name == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    digests = [hashlib.sha256(script.encode()).digest() for script in page.scripts]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert len(hashes) == 2
    assert rules["script-src"] == hashes
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
    others = [a.get("type") for name, a in page.elements if name == "script" and a]
    assert set(others) <= {"application/json", "application/octet-stream"}


def test_page_shows_everything(page: Reader, contents: Contents) -> None:
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert {"figure-uci_nll_paper", "table-uci_main_paper", "claim-holds", "claim-fails"} <= ids
    rows = [a for name, a in page.elements if name == "tr" and "data-verdict" in a]
    numbers = contents.verdicts[contents.verdicts["kind"] == "number"]
    assert [row["data-verdict"] for row in rows] == numbers["verdict"].tolist()
    assert "A & B." in page.text
    assert "snakemake --force -- results/full/figures/uci_nll_paper.png" in page.text
    assert "The paper has 3 numbers. Verdicts under the protocol paper:" in page.text
    assert "3 of WTA methods: 1 reproduced, 1 worse, 1 not run" in page.text
    assert "A b d." in page.text  # what README.md found
    assert "of 1 claims that have one, 1 get another verdict if it is halved" in page.text
    assert "all <is> well" in page.text
    assert "from the text, converged" in page.text
    assert "1 of 2 claims that could be judged hold, of 2 made" in page.text
    assert "selected weights" in page.text
    assert "aaaaaaaaaa" in page.text  # the revision of the figure's input
    assert "There are no exported predictions here" in page.text


def test_verdicts_are_words_too(page: Reader) -> None:
    for word in ("reproduced", "worse", "not run", "holds", "fails"):
        assert f" {word}" in page.text


def test_text_stays_text(page: Reader, contents: Contents) -> None:
    assert "<script>alert('holds')</script> & so on" in page.text
    assert "A <note>." in page.text
    assert "<script>alert" not in render(contents)


def test_same_contents_same_page(contents: Contents) -> None:
    assert render(contents) == render(contents)


def test_page_has_a_size_limit(
    contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(contents, tmp_path / "index.html")
    assert 10**4 < (tmp_path / "index.html").stat().st_size < 10**6
    monkeypatch.setattr(building, "MOST", 1000)
    with pytest.raises(ValueError, match="fewer figures"):
        build(contents, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_tables_beside_printed_numbers_have_verdicts(contents: Contents) -> None:
    """Two data sets with a method each that is judged, and one that the paper alone has."""
    numbers = "protocol,dataset,metric,method,K,difference,line,column\n"
    numbers += "literal,boston,nll,v_wta,16,.1,Boston,V-WTA\n"
    numbers += "literal,rotating_moons,nll,v_wta,16,.1,Moons,V-WTA\n"
    numbers += "literal,wine,nll,v_wta,16,,Wine,V-WTA\n"
    (sheet,) = contents.sheets
    sheet = dataclasses.replace(
        sheet,
        heads=["Dataset", "", "PBP", "V-WTA"],
        rows=[["Boston", "printed", "2", "2.5"], ["", "ours", "", "3.5"], ["Wine", "ours", "", ""]],
        csv=numbers,
    )
    page = render(dataclasses.replace(contents, sheets=[sheet]))
    table = page[page.index('class="sheet"') :]
    rows = re.findall(r"<tr>(<td>.*?)</tr>", table[: table.index("</table>")])
    lines = [re.sub(r"<[^>]*>", "|", row).strip("|") for row in rows]
    assert [line.split("||")[0] for line in lines] == ["Boston", "ours", "verdict", "Wine"]
    assert 'class="chip reproduced"' in rows[2].split("</td>")[3]
    assert "chip" not in "".join(rows[:2] + rows[3:])


def test_outdated_figures_say_so(contents: Contents) -> None:
    (picture,) = contents.pictures
    old = dataclasses.replace(contents, pictures=[dataclasses.replace(picture, outdated=True)])
    assert "older than its numbers" in render(old)
    assert "older than its numbers" not in render(contents)


def test_sheets_are_read(tmp_path: Path, contents: Contents) -> None:
    (sheet,) = contents.sheets
    assert sheet.caption == "UCI: a table"
    assert sheet.heads == ["Set", "NLL"]
    assert sheet.rows == [["A", "**1**"], ["", "3"]]
    assert sheet.notes == ["A <note>."]
    assert sheet.csv == "set,nll\nA,1\n"
    (tmp_path / "empty.md").write_text("nothing")
    with pytest.raises(ValueError, match=r"empty\.md: no table"):
        read_sheet(tmp_path / "empty.md")


def test_names() -> None:
    assert study_of("audio_dispersion.png") == "audio"
    assert study_of("nll_against_h_paper_K9.png") == "synthetic"
    assert short("0123456789abcdef-dirty") == "0123456789-dirty"


def test_bibtex() -> None:
    paper = {"title": "T", "collection-title": "C", "volume": 1, "year": 2024}
    paper["authors"] = [{"given-names": "A", "family-names": "B"}]
    assert bibtex(paper).startswith("@inproceedings{b2024,\n  title = {{T}},\n  author = {B, A},")
