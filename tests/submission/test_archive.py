"""Archives are read as folders are, and none can reach out of its place or fill the machine."""

from __future__ import annotations

import io
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from grader import submission
from grader.submission import archive

RIGHT = b"def attention(): ...\n"


def zipped(**files: bytes) -> bytes:
    return zipped_names({f"{name}.py": data for name, data in files.items()})


def zipped_names(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return data.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz", **special: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as made:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        for name, target in special.items():
            member = tarfile.TarInfo(name)
            member.type = tarfile.SYMTYPE if target else tarfile.CHRTYPE
            member.linkname = target
            made.addfile(member)
    return data.getvalue()


def problem(folder: Path, name: str, data: bytes) -> str:
    """What is said of an archive that is a student's submission."""
    (folder / "class").mkdir()
    (folder / "class" / name).write_bytes(data)
    (student,) = submission.contents(folder / "class").submissions
    assert not student.sources
    (says,) = set(student.problems.values())
    return says


@pytest.mark.parametrize("inside", ["", "judy/", "my work\\"])
def test_a_zip_in_a_class_is_a_student(tmp_path: Path, inside: str) -> None:
    files = {f"{inside}attention.py": RIGHT, "__MACOSX/._attention.py": b"\0"}
    (tmp_path / "judy.zip").write_bytes(zipped_names(files))
    (tmp_path / "ada").mkdir()
    ada, judy = submission.contents(tmp_path).submissions
    assert (ada.name, judy.name) == ("ada", "judy")
    assert judy.sources == {"attention": RIGHT.decode()}
    assert judy.passed_over == ()


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz")])
def test_a_tar_in_a_students_folder_is_read(tmp_path: Path, suffix: str, mode: str) -> None:
    (tmp_path / "judy").mkdir()
    data = tarred({"work/attention.py": RIGHT}, mode)
    (tmp_path / "judy" / f"work{suffix}").write_bytes(data)
    (judy,) = submission.contents(tmp_path).submissions
    assert judy.sources == {"attention": RIGHT.decode()}


def test_a_download_of_the_class_is_read_without_unpacking_it(tmp_path: Path) -> None:
    files = {
        "Ada_1_assignsubmission_file_/attention.py": RIGHT,
        "Judy_2_assignsubmission_file_/work.zip": zipped(attention=RIGHT),
        "Max_3_assignsubmission_file_/work.rar": b"",
    }
    (tmp_path / "download.zip").write_bytes(zipped_names(files))
    contents = submission.contents(tmp_path / "download.zip")
    assert [(result.name, list(result.sources)) for result in contents.submissions] == [
        ("Ada_1", ["attention"]),
        ("Judy_2", ["attention"]),
        ("Max_3", []),
    ]
    assert [entry.path for entry in contents.submissions[2].passed_over] == ["work.rar"]


def test_a_hidden_folder_in_an_archive_is_listed(tmp_path: Path) -> None:
    files = {"attention.py": RIGHT, ".more/masks.py": b"x = 1", "__MACOSX/masks.py": b"\0"}
    (tmp_path / "judy.zip").write_bytes(zipped_names(files))
    (judy,) = submission.contents(tmp_path).submissions
    assert [(entry.path, entry.work) for entry in judy.passed_over] == [(".more", True)]


def test_an_archive_beside_graded_files_is_listed(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "attention.py").write_bytes(RIGHT)
    (tmp_path / "ada" / "all.zip").write_bytes(zipped(masks=b"x = 1"))
    (ada,) = submission.contents(tmp_path).submissions
    assert [(entry.path, entry.work) for entry in ada.passed_over] == [("all.zip", True)]


def test_an_archive_inside_an_archive_is_refused_and_listed(tmp_path: Path) -> None:
    data = zipped_names({"inner.zip": zipped(attention=RIGHT)})
    (tmp_path / "judy.zip").write_bytes(data)
    (judy,) = submission.contents(tmp_path, submission.Reading.CLASS).submissions
    assert not judy.sources
    (passed,) = judy.passed_over
    assert (passed.path, passed.work) == ("inner.zip", True)
    assert "inside an archive" in passed.reason


@pytest.mark.parametrize(
    "name", ["../attention.py", "/tmp/attention.py", "C:\\attention.py", "a/../.."]
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    data = zipped_names({name: RIGHT}) if kind == "zip" else tarred({name: RIGHT})
    says = problem(tmp_path, "eve.zip" if kind == "zip" else "eve.tgz", data)
    assert "leads out of it" in says
    assert sorted(item.name for item in tmp_path.iterdir()) == ["class"]


@pytest.mark.parametrize("target", ["/etc/passwd", ""])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, target: str) -> None:
    data = tarred({}, "w:gz", attention=target)
    assert "a link or a device (attention)" in problem(tmp_path, "eve.tar.gz", data)


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        member = zipfile.ZipInfo("attention.py")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(member, "/etc/passwd")
    assert "a link or a device" in problem(tmp_path, "eve.zip", data.getvalue())


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path, kind: str) -> None:
    files = {"work.ipynb": bytes(20 << 20)}
    data = zipped_names(files) if kind == "zip" else tarred(files)
    assert len(data) < 100_000
    says = problem(tmp_path, "eve.zip" if kind == "zip" else "eve.tgz", data)
    assert "unpacks to more than 100 times its size" in says


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"1" * (1 << 20), id="a number without an end"),
        pytest.param(b"3 a" * (1 << 18), id="names without an end"),
        pytest.param(b"1048576 a=" + b"1" * (1 << 20), id="a number in a value"),
    ],
)
def test_headers_that_take_the_square_of_their_length_are_refused(
    tmp_path: Path, header: bytes
) -> None:
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, len(header)
    entry = member.tobuf(tarfile.USTAR_FORMAT) + header + bytes(-len(header) % 512)
    assert "it is damaged" in problem(
        tmp_path, "eve.tar", entry + tarred({"attention.py": RIGHT}, "w")
    )


def test_what_a_mac_says_of_each_file_is_read_over(tmp_path: Path) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", format=tarfile.PAX_FORMAT) as made:
        for number in range(100):
            member = tarfile.TarInfo(f"{number}.py" if number else "attention.py")
            member.size = len(RIGHT)
            member.pax_headers = {"LIBARCHIVE.xattr.com.apple.metadata": "1 a=é" * 4000}
            made.addfile(member, io.BytesIO(RIGHT))
    (tmp_path / "ada.tgz").write_bytes(data.getvalue())
    assert "attention" in submission.find(tmp_path / "ada.tgz", submission.Reading.ONE)[0].sources


def test_too_many_files_and_too_deep_folders_are_refused(tmp_path: Path) -> None:
    many = zipped_names({f"{number}.txt": b"" for number in range(archive.STUDENT.files + 1)})
    assert "more than 5,000 files" in problem(tmp_path / ".", "eve.zip", many)
    with tempfile.TemporaryDirectory() as path:
        deep = zipped_names({"a/" * 20 + "attention.py": RIGHT})
        assert "more than 12 deep" in problem(Path(path), "eve.zip", deep)


@pytest.mark.parametrize("name", ["eve.zip", "eve.tar", "eve.tgz"])
@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04 and no more", b"\x1f\x8b\x08", zipped(a=RIGHT)[:60]],
    ids=["empty", "only zip's first bytes", "only gzip's first bytes", "half a zip"],
)
def test_a_damaged_archive_is_its_owners_problem(tmp_path: Path, name: str, data: bytes) -> None:
    assert problem(tmp_path, name, data).startswith(f"{name} could not be read: it is damaged")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    files = {"attention.py": RIGHT, "./attention.py": b"x = 1"}
    assert "attention.py twice" in problem(tmp_path, "eve.zip", zipped_names(files))
