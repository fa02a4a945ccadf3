"""Artifacts as values: identity, forms, where `load` looks, devices and adapters."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrule as fr
from ferrule import _rt
from ferrule.errors import UserTypeError, UserValueError


def unique() -> tuple[Any, float]:
    """A program that no process has mapped."""
    number = float(uuid.uuid4().int % 2**40)
    return fr.program(lambda a: a * 0.0 + number), number


def compiled(folder: Path) -> tuple[fr.Artifact, float]:
    """An artifact in a store of its own, not mapped."""
    program, number = unique()
    with fr.config(cache_dir=str(folder)):
        return program.compile(np.ones(2), target="baseline"), number


def test_identity_is_the_key(tmp_path: Path) -> None:
    artifact, _ = compiled(tmp_path)
    other, _ = compiled(tmp_path)
    assert artifact == fr.Artifact(artifact._value) and artifact != other and artifact != artifact.key
    assert len({artifact, fr.Artifact(artifact._value), other}) == 2
    assert artifact.__dask_tokenize__() == artifact.key
    assert copy.copy(artifact) is artifact and copy.deepcopy([artifact])[0] is artifact


def test_forms_of_pickles(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path)
    with fr.config(cache_dir=str(tmp_path)):
        value, reference, auto = (
            pickle.dumps(each) for each in (artifact.by_value(), artifact.by_reference(), artifact)
        )
    assert len(reference) < len(value) and abs(len(auto) - len(value)) < 8
    for each in (value, reference, auto):
        again = pickle.loads(each)
        with fr.config(cache_dir=str(tmp_path)):
            assert again == artifact and pickle.dumps(again) == each
            assert again.load()(np.ones(1)).tolist() == [number]


def test_by_value_needs_no_store(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path / "one")
    with fr.config(cache_dir=str(tmp_path / "one")):
        text = pickle.dumps(artifact)
    shutil.rmtree(tmp_path / "one")
    with fr.config(cache_dir=str(tmp_path / "two"), compiler="/nonexistent"):
        assert pickle.loads(text).load(rebuild=False)(np.ones(1)).tolist() == [number]


def test_an_error_lists_all_places(tmp_path: Path) -> None:
    artifact, _ = compiled(tmp_path / "one")
    text = pickle.dumps(artifact.by_reference())
    shutil.rmtree(tmp_path / "one")
    with fr.config(cache_dir=str(tmp_path / "two"), compiler="/nonexistent"):
        missing = rf"the store '{tmp_path}/two' has no sound entry; the artifact has no module by value; no read-only store has it; "
        with pytest.raises(
            fr.IncompatibleArtifact, match=missing + "building it from its source was not allowed"
        ):
            pickle.loads(text).load(rebuild=False)
        with pytest.raises(
            fr.IncompatibleArtifact,
            match=missing + "building it from its source failed: .*'/nonexistent' was not found",
        ):
            pickle.loads(text).load()


def test_a_reference_is_built_again_where_no_store_has_it(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path / "one")
    text = pickle.dumps(artifact.by_reference())
    shutil.rmtree(tmp_path / "one")
    with fr.config(cache_dir=str(tmp_path / "two")):
        again = pickle.loads(text)
        assert again.load()(np.ones(1)).tolist() == [number]
        assert again.load().artifact is again


def test_what_is_mapped_is_not_read_again(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path)
    with fr.config(cache_dir=str(tmp_path)):
        artifact.load()
        shutil.rmtree(tmp_path)
        first, second = artifact.load(rebuild=False), artifact.load(rebuild=False)
    assert first is not second and first.file_digest == second.file_digest
    assert first(np.ones(1)).tolist() == second(np.ones(1)).tolist() == [number]
    with pytest.raises(LookupError, match="No module is mapped under 'nothing'"):
        _rt.Kernel(None, "nothing")


def test_an_artifact_whose_store_is_gone_still_pickles(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path / "one")
    with fr.config(cache_dir=str(tmp_path / "two")):
        assert pickle.loads(pickle.dumps(artifact)).load()(np.ones(1)).tolist() == [number]
        other, number = compiled(tmp_path / "three")
        shutil.rmtree(tmp_path / "three")
        assert pickle.loads(pickle.dumps(other)).load()(np.ones(1)).tolist() == [number]
        assert pickle.loads(pickle.dumps(other.by_value())).load()(np.ones(1)).tolist() == [number]


def test_kernels_pickle_as_handles_of_their_own(tmp_path: Path) -> None:
    artifact, number = compiled(tmp_path)
    with fr.config(cache_dir=str(tmp_path)):
        kernel = artifact.load()
        for again in (pickle.loads(pickle.dumps(kernel)), copy.copy(kernel), copy.deepcopy(kernel)):
            assert again is not kernel and again.artifact == artifact
            assert again(np.ones(1)).tolist() == [number]
            again.error_check = False
        assert kernel.error_check


class Adapted:
    """What an adapter makes of a kernel."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, *args: Any) -> list[float]:
        return list(self.kernel(*args))


def test_an_adapter_travels_with_the_artifact(tmp_path: Path) -> None:
    program = fr.program(lambda a: a + 0.5)
    plain = program.compile(np.ones(2))
    artifact = program.compile(np.ones(2), adapter=f"{__name__}:Adapted")
    assert artifact != plain and plain.adapter is None and artifact.device == plain.device == "cpu"
    artifact.save(tmp_path / "adapted")
    for each in (artifact, pickle.loads(pickle.dumps(artifact)), fr.Artifact.open(tmp_path / "adapted")):
        loaded = each.load()
        assert type(loaded).__name__ == "Adapted" and loaded(np.ones(2)) == [1.5, 1.5]
    assert isinstance(pickle.loads(pickle.dumps(loaded.kernel)), fr.Kernel)
    assert json.loads(artifact.manifest)["binding"]["adapter"] == artifact.adapter


@pytest.mark.parametrize("adapter", ["no colon", "a:", ":b", "os:path; x"])
def test_an_adapter_is_a_module_and_a_name(adapter: str) -> None:
    with pytest.raises(UserValueError, match="must have the form 'module:qualname'"):
        fr.program(lambda a: a + 0.5).compile(np.ones(2), adapter=adapter)


def test_an_adapter_that_is_not_there() -> None:
    artifact = fr.program(lambda a: a + 0.5).compile(np.ones(2), adapter="nowhere:thing")
    with pytest.raises(UserValueError, match="its adapter 'nowhere:thing' cannot be imported"):
        artifact.load()


def test_an_adapter_is_text() -> None:
    with pytest.raises(UserTypeError, match="'adapter' is int"):
        fr.program(lambda a: a + 0.5).compile(np.ones(2), adapter=3)


def local(k: float) -> Any:
    return fr.program(lambda a: a * k)


def test_functions_are_tokens_by_what_they_do() -> None:
    assert local(2.0).__dask_tokenize__() == local(2.0).__dask_tokenize__() != local(3.0).__dask_tokenize__()
    function = local(2.0)
    before = function.__dask_tokenize__()
    function(np.ones(2))
    assert function.__dask_tokenize__() == before == pickle.loads(pickle.dumps(function)).__dask_tokenize__()


@pytest.mark.parametrize("changes", [{"device": "cuda"}])
def test_another_device_is_refused(changes: dict[str, str], tmp_path: Path) -> None:
    value, _ = _rt.Store(str(tmp_path)).compile(
        "other",
        'extern "C" int other(){return 0;}',
        binding=json.dumps(changes),
        include_dir=str(Path(__file__).resolve().parents[2] / "include"),
    )
    with pytest.raises(
        fr.IncompatibleArtifact, match="'other' is for device 'cuda', but this library runs 'cpu'"
    ):
        fr.Artifact(value).load()


def test_each_handle_has_a_program_of_its_own(tmp_path: Path) -> None:
    artifact, _ = compiled(tmp_path)
    with fr.config(cache_dir=str(tmp_path)):
        first, second = artifact.load(), artifact.load()
    assert first.program is first.program is not second.program
    assert first.program.print() == second.program.print() == first.ir("program")


def test_a_source_kernel_has_its_signature() -> None:
    signature = fr.Signature("fill", (fr.Arg("a", shape="N", intent="out"),))
    text = 'extern "C" void fill(double* a, long n) { for (long i = 0; i < n; ++i) a[i] = 7; }'
    artifact = fr.compile_source(text, signature, adapter=f"{__name__}:Adapted")
    kernel = pickle.loads(pickle.dumps(artifact)).load().kernel
    assert kernel.program.to_json() == signature.to_json() and kernel.program is not signature
    assert kernel.program.args == ("a",)


def test_the_folder_has_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact, number = compiled(tmp_path / "store")
    folder = artifact.folder
    assert folder is not None
    assert {path.name for path in Path(folder).iterdir()} == {
        "manifest.json",
        "module.so",
        "source.cpp",
        "log.txt",
    }
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with fr.config(cache_dir=str(tmp_path / "store")):
        kernel = artifact.load()
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "here").rmdir()
    assert kernel(np.ones(1)).tolist() == [number]
    assert artifact.folder is None


def test_the_folder_of_an_entry_is_found_before_anything_was_loaded(tmp_path: Path) -> None:
    artifact, _ = compiled(tmp_path)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).folder)"
    env = {**os.environ, "FERRULE_CACHE_DIR": str(tmp_path)}
    sent = pickle.dumps(artifact.by_reference())
    done = subprocess.run([sys.executable, "-c", code], input=sent, env=env, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(tmp_path / "v1" / artifact.key[:2] / artifact.key[2:])
