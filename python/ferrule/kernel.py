"""Loaded programs: the call object with what lets a user look inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ferrule import _rt
from ferrule.errors import UserError, UserRuntimeError, UserValueError
from ferrule.spent import Spent


class Kernel(_rt.Kernel):
    """A compiled program, called with the arguments of its signature by position or by name.

    Calls from several threads at once are safe: each has its own scratch memory, error and results. The artifact that
    it was loaded from is `artifact`.
    """

    artifact: Any = None
    _program: Any = None
    _spent: Mapping[str, Any] | None = None
    # A weak reference to the Function that it specialises, and its number there.
    _function: Callable[[], Any] | None = None
    _number: int = -1
    _imported: bool = False  # by `import`, which keeps what it has

    def safe_call(self, *args: Any, **kwargs: Any) -> Any:
        """The call in a process of its own on shared memory, some milliseconds slower.

        What it writes and returns is what a plain call writes and returns. Where the native code crashes, UserRuntimeError
        names the signal and every array is as before. State that the program keeps is the child's.
        """
        from ferrule.safe import safe_call

        return safe_call(self, args, kwargs)

    def unload(self) -> bool:
        """End this handle and, where nothing else uses it, the module in this process.

        The program's state and the workspaces are released as by `finalize`. Every later call is UserRuntimeError; what
        the kernel tells of itself, its pickle, its artifact and all that calls gave stay. A function that has it as a
        specialisation makes it again when a call needs it. True: the module's code and data are gone, and loading the
        artifact maps it anew. False: other handles use the module, so that it stays until the last of them is unloaded
        too, or this one was unloaded before. Raises UserRuntimeError, and changes nothing, while a call of the handle runs
        and for what Python has imported; what the program's `exit` reports is raised once all is done.
        """
        if self._imported:
            raise UserRuntimeError(
                f"'{self.name}' cannot be unloaded, because its module was imported; Python keeps what it has imported until"
                " the process ends."
            )
        function = None if self._function is None else self._function()
        return super().unload() if function is None else bool(function._unload(self, super().unload))

    def __reduce__(self) -> tuple[Any, ...]:
        """As its artifact: what is loaded from the pickle is a new handle."""
        if self.artifact is None:
            import pickle

            raise pickle.PicklingError(
                f"'{self.name}' was loaded from a file alone; pickle the artifact that it was made from."
            )
        return _load, (self.artifact,)

    @property
    def program(self) -> Any:
        """The program that the kernel was compiled from, a copy of this handle's own; a source kernel's Signature."""
        if self._program is None:
            binding = self._binding()
            if "signature" in binding:
                import json

                from ferrule.signature import Signature

                self._program = Signature.from_json(json.dumps(binding["signature"]))
            else:
                from ferrule import _compiler

                self._program = _compiler.parse_program(self._program_text())
        return self._program

    def _require_artifact(self) -> Any:
        if self.artifact is None:
            raise UserError(f"'{self.name}' was loaded from a file alone, so its source is not known.")
        return self.artifact

    def source(self) -> str:
        """The emitted C++, as it was compiled. Raises UserError where it was not kept."""
        source: str = self._require_artifact().source
        if not source:
            raise UserError(
                f"The source of '{self.name}' was not kept: its folder has the layout 'production'."
            )
        return source

    def _binding(self) -> dict[str, Any]:
        binding: dict[str, Any] = self._require_artifact()._binding()
        return binding

    def _program_text(self) -> str:
        text: str | None = self._binding().get("program")
        if text is None:
            raise UserError(
                f"'{self.name}' was compiled from source text and has no intermediate representation."
            )
        return text

    def ir(self, stage: str = "program") -> str:
        """Text of the program after a stage: 'program', 'analyse', 'lower', a pass of the schedule, 'emit'.

        The stages are run again. Raises UserValueError naming the stages for any other name; target 'reference' has none
        of the schedule.
        """
        from ferrule import _compiler

        if stage not in _compiler.stage_names():
            raise UserValueError(
                f"'{stage}' is no stage; the stages are {', '.join(_compiler.stage_names())}."
            )
        if stage == "program":
            text: str = _compiler.parse_program(self._program_text()).print()
            return text
        texts = self._texts()
        if stage not in texts:
            raise UserValueError(
                f"'{stage}' is no stage of '{self.name}', which is compiled for target 'reference'; its stages are "
                f"{', '.join(texts)}."
            )
        return texts[stage]

    def _texts(self) -> dict[str, str]:
        """The output of each stage, run again."""
        import json

        from ferrule import _compiler

        target = json.loads(self._require_artifact().manifest)["options"]["target"]
        program = _compiler.parse_program(self._program_text())
        emitted = _compiler.emit_source(program, reference=target == "reference", keep_text=True)
        texts: dict[str, str] = emitted["text"]
        return texts

    def assembly(self) -> str:
        """Disassembly of the loaded module, by objdump. Raises UserError where objdump is missing."""
        import os
        import shutil
        import subprocess
        import tempfile

        objdump = shutil.which("objdump")
        if objdump is None:
            raise UserError("'objdump' was not found; install binutils to see the assembly.")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "module.so")
            with open(path, "wb") as file:
                file.write(self._require_artifact().module_bytes())
            command = [objdump, "-d", "--no-show-raw-insn", "-M", "intel", path]
            env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
            return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout

    def stats(self) -> dict[str, Any]:
        """What it took to make this kernel, as `Function.stats` tells it of all its specialisations.

        captures, compiles and hits count traces, runs of the C++ compiler and modules taken from the store; seconds holds
        'capture', 'compile' and 'load', in seconds; 'compiler' is the part of 'compile' that the C++ compiler took; stages
        holds the seconds of each stage before it. Of a kernel that an artifact gives only the load is known.
        """
        return dict(self._spent or Spent().told())

    def explain(self) -> str:
        """What the schedule did: each pass, whether it changed anything, and the loop nests that are left."""
        from ferrule import _compiler

        texts = self._texts()
        lines = [f"{self.signature}"]
        before = texts["lower"]
        passes = _compiler.schedule_passes()
        if not any(name in texts for name, *_ in passes):
            return f"{lines[0]}\n  target 'reference': the evaluator runs the operations one by one"
        for name, what, _ in passes:
            after = texts.get(name, before)
            changed = "no change" if after == before else f"{_count(before)} -> {_count(after)} nests"
            lines.append(f"  {name:10} {what} ({changed})")
            before = after
        return "\n".join(lines)


def _count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.lstrip().startswith("nest"))


def _load(artifact: Any) -> Any:
    return artifact._kernel()
