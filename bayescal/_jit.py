"""Compilation of loops by numba, with a cache on disk that is verified when it is loaded; vector additions."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic


def compiled(*, folder: bool = False, part: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function at its first call, and keeps the result on disk if possible.

    With `folder`, a change of any file of the folder makes the cache invalid, as for a function that calls compiled
    functions of other files; numba itself looks at the file of the function only. A `part` is a function that only
    compiled functions call: it is optimised, and made machine code, within each of them that Python calls.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        options_of_all = {"error_model": "numpy", "nogil": True, **options}
        try:
            if part:
                return _part(function, options_of_all)
            compiled = numba.njit(cache=True, **options_of_all)(function)
            _seal(compiled._cache._cache_file)
            _forgive(compiled._cache)
            if folder:
                compiled._cache._cache_file._source_stamp = _stamp(Path(inspect.getfile(function)).parent)
        # no folder for the cache can be written to; or there is none, as where numba is switched off
        except (RuntimeError, AttributeError):
            return numba.njit(**options_of_all)(function)
        return compiled

    return decorate


def _part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for use in compiled functions, of one version for all constants that are its arguments.

    By default, numba optimises every function together with all functions that it calls, so that a function is
    optimised again for each of its direct and indirect callers; and it makes a version for each constant.
    """
    wrappers: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    part = numba.njit(pipeline_class=_PartCompiler, **wrappers, **options)(function)
    template, unliteral = part.get_call_template, numba.types.unliteral
    part.get_call_template = lambda types, keywords: template(
        [*map(unliteral, types)], {name: unliteral(kind) for name, kind in dict(keywords).items()}
    )
    return part


class _PartCompiler(Compiler):
    def define_pipelines(self) -> Any:
        """Compile as by default, into another kind of library."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """Code that callers link, before it is optimised; it has no machine code, so no address."""

    #: Machine code would be told where its Python objects are; loops have none.
    codegen = SimpleNamespace(set_env=lambda name, environment: None)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, for "none"."""
        return 0


def _stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """Names, times and sizes of the files of a folder."""
    return tuple((f.name, f.stat().st_mtime, f.stat().st_size) for f in sorted(folder.glob("*.py")))


def _seal(files: Any) -> None:
    """Append a digest to cache files and verify it on loading: damaged machine code could return wrong numbers."""
    dump, load = files._dump, files._load_data

    def dump_with_digest(content: Any) -> bytes:
        data: bytes = dump(content)
        return data + sha256(data).digest()  # unpickling ignores trailing bytes

    def load_if_whole(name: str) -> Any:
        data = Path(files._data_path(name)).read_bytes()
        if sha256(data[:-32]).digest() != data[-32:]:
            raise ValueError(f"'{name}' is damaged.")
        return load(name)

    files._dump, files._load_data = dump_with_digest, load_if_whole


def _forgive(cache: Any) -> None:
    """Recompile if cache files are damaged or unreadable; continue without a cache if the disk is full."""
    load, save = cache.load_overload, cache.save_overload

    def load_or_begin_anew(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # a damaged pickle can raise almost any exception
            with suppress(OSError):
                cache.flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        with suppress(Exception):  # a full disk, or an index that can be neither read nor replaced
            save(*arguments)

    cache.load_overload, cache.save_overload = load_or_begin_anew, save_if_possible


@intrinsic
def add_at(context: Any, array: Any, at: Any, values: Any) -> Any:
    """Add the floats of a tuple to neighbouring elements of an array, by one vector instruction."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> None:
        floats = ir.VectorType(ir.DoubleType(), len(values))
        sums = target.make_array(array)(target, builder, arguments[0])
        place = builder.bitcast(builder.gep(sums.data, [arguments[1]]), floats.as_pointer())
        added = ir.Constant(floats, ir.Undefined)
        for i in range(len(values)):
            number = builder.extract_value(arguments[2], i)
            added = builder.insert_element(added, number, ir.Constant(ir.IntType(32), i))
        builder.store(builder.fadd(builder.load(place, align=8), added), place, align=8)

    return numba.types.void(array, at, values), generate
