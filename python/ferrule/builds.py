"""What of options and configuration decides what a program is compiled to, besides the call's arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from ferrule import _rt, session
from ferrule.options import Options
from ferrule.session import BuildSettings


@dataclass(frozen=True)
class Build:
    """The options and settings of one compilation, as far as they are in the key of its artifact."""

    facts: tuple[tuple[str, str], ...]  # names and values
    compiler: tuple[str, str, str]  # by what the C++ compiler is found
    # The identity of that compiler; empty: none was found, or another process's; None: not asked for.
    toolchain: str | None = None

    @staticmethod
    def current(options: Options, settings: BuildSettings) -> Build:
        """What is compiled now. The C++ compiler is not asked for, which takes longer than all else."""
        facts = {
            "target": settings.target,
            "build": settings.mode,
            "CXXFLAGS": " ".join(settings.flags),
            **options.facts(),
            "FERRULE_PASSES_OFF": os.environ.get("FERRULE_PASSES_OFF", ""),
        }
        found_by = settings.compiler, os.environ.get("CXX", ""), os.environ.get("PATH", "")
        return Build(tuple(facts.items()), found_by)

    def with_toolchain(self, identity: str) -> Build:
        """The same with the identity of the C++ compiler."""
        return replace(self, toolchain=identity)

    def gives_the_same(self, now: Build) -> bool:
        """Whether what this one has compiled is what is compiled now. A C++ compiler that is found by the same names is
        taken for the same one; where there is none now, and for what another process compiled, any will do."""
        if self.facts != now.facts:
            return False
        if self.compiler == now.compiler or not self.toolchain:
            return True
        return _rt.toolchain_identity(now.compiler[0], session.store()) in ("", self.toolchain)
