"""What fr.Store shows of a folder of compiled programs, and what it changes there."""

import json
import os

import numpy as np
import pytest

import ferrule as fr


@fr.program
def doubled(a):
    return a + a


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store that has one program, and that program's artifact."""
    root = tmp_path_factory.mktemp("store") / "root"
    with fr.config(cache_dir=str(root)):
        artifact = doubled.compile(np.ones(3))
        yield fr.Store(), artifact


def test_entries_and_ingredients(filled):
    store, artifact = filled
    (entry,) = store.entries()
    assert (entry.key, entry.name, entry.problem) == (artifact.key, "doubled", "")
    assert entry.bytes > len(artifact.source)
    assert store.get(artifact.key[:12]) == artifact
    assert store.get("f" * 64) is None and store.get("nothing") is None
    assert dict(store.ingredients(artifact.key)) == dict(json.loads(artifact.manifest)["ingredients"])
    with pytest.raises(fr.UserError, match="no sound entry 'abc'"):
        store.ingredients("abc")


def test_verify_is_sound_and_finds_a_file_that_is_not_of_the_store(filled):
    store, _ = filled
    assert store.verify().sound and store.verify().entries == 1
    stray = os.path.join(store.root, "v1", "notes \udcff.txt")
    with open(stray, "w"):
        pass
    (finding,) = store.verify(repair=True).findings
    assert (finding.kind, finding.path, finding.removed) == ("foreign", stray, False)
    os.remove(stray)


def test_export_and_import(filled, tmp_path):
    store, artifact = filled
    archive = tmp_path / "archive ü"
    assert store.export(archive, [artifact.key[:10]]).entries == 1
    other = fr.Store(tmp_path / "other")
    assert other.import_(archive).entries == 1
    assert other.get(artifact.key) == artifact and other.verify().sound
    absent = "1" if artifact.key[0] == "0" else "0"
    with pytest.raises(fr.UserError, match=f"no entry '{absent}'"):
        other.export(archive, [absent])
    archive.write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(fr.UserError, match="damaged or cut short"):
        other.import_(archive)


def test_prune(filled, tmp_path):
    store, artifact = filled
    store.export(tmp_path / "archive")
    other = fr.Store(tmp_path / "other")
    other.import_(tmp_path / "archive")
    assert other.prune(older_than=3600).entries == 0
    with pytest.raises(fr.UserError, match="'max_bytes' is -1"):
        other.prune(max_bytes=-1)
    pruned = other.prune(max_bytes=0)
    assert (pruned.entries, pruned.left) == (1, 0) and pruned.freed > 0
    assert other.get(artifact.key) is None
    assert fr.Store(store.root, read_only=True).prune(max_bytes=0).entries == 0
    assert store.entries()


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("2K", 2048), ("1.5 MiB", 3 << 19), ("5g", 5 << 30), ("none", None), ("", None)],
)
def test_sizes_from_the_environment(monkeypatch, text, size):
    from ferrule.config import setting

    monkeypatch.setenv("FERRULE_CACHE_LIMIT", text)
    assert setting("cache_limit") == size


def test_a_limit_may_be_none_and_must_be_a_number():
    with fr.config(cache_limit=None):
        assert fr.Store().root
    with (
        pytest.raises(fr.UserError, match="'cache_limit' is '5G', but must be an int"),
        fr.config(cache_limit="5G"),
    ):
        pass
