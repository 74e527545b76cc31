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

WORD = ir.IntType(64)
FOUR = ir.VectorType(ir.DoubleType(), 4)


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
        sums = target.make_array(array)(target, builder, arguments[0])
        numbers = [builder.extract_value(arguments[2], i) for i in range(len(values))]
        _add(builder, sums, arguments[1], _vector(builder, numbers))

    return numba.types.void(array, at, values), generate


@intrinsic
def add_powers(context: Any, array: Any, at: Any, value: Any, weight: Any, first: Any, lane: Any) -> Any:
    """Add (w, w d, w d^2, w d^3) of four rows to neighbouring elements of an array, with weights also 1 and w^2.

    The rows are those from `first` on; `at` has the places of their sums, `value` their d. The second and the fourth
    row are added `lane` elements later.
    """
    weighted = not isinstance(weight, numba.types.NoneType)

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> None:
        sums, places, d = (
            target.make_array(kind)(target, builder, argument)
            for kind, argument in zip((array, at, value), arguments, strict=False)
        )
        start = arguments[4]
        d, w = _four(builder, d, start), ir.Constant(FOUR, [1.0] * 4)
        powers = [w, d]
        if weighted:
            w = _four(builder, target.make_array(weight)(target, builder, arguments[3]), start)
            powers = [w, builder.fmul(w, d)]
        powers.append(builder.fmul(powers[1], d))
        powers.append(builder.fmul(powers[2], d))
        rows = _transposed(builder, powers)
        for i, row in enumerate(rows):
            place = builder.load(builder.gep(places.data, [builder.add(start, ir.Constant(WORD, i))]))
            place = builder.zext(place, WORD)
            place = builder.add(place, arguments[5]) if i % 2 else place
            _add(builder, sums, place, row)
            if weighted:
                of_row = builder.extract_element(w, ir.Constant(ir.IntType(32), i))
                more = _vector(builder, [ir.Constant(ir.DoubleType(), 1.0), builder.fmul(of_row, of_row)])
                _add(builder, sums, builder.add(place, ir.Constant(WORD, 4)), more)

    return numba.types.void(array, at, value, weight, first, lane), generate


@intrinsic
def bits_of(context: Any, number: Any) -> Any:
    """Return the bits of a float64 as an integer."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], WORD)

    return numba.types.uint64(numba.types.float64), generate


@intrinsic
def float_of(context: Any, bits: Any) -> Any:
    """Return the float64 that has these bits."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.uint64), generate


def _add(builder: Any, sums: Any, at: Any, vector: Any) -> None:
    place = builder.bitcast(builder.gep(sums.data, [at]), vector.type.as_pointer())
    builder.store(builder.fadd(builder.load(place, align=8), vector), place, align=8)


def _vector(builder: Any, numbers: list[Any]) -> Any:
    vector = ir.Constant(ir.VectorType(ir.DoubleType(), len(numbers)), ir.Undefined)
    for i, number in enumerate(numbers):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), i))
    return vector


def _four(builder: Any, array: Any, first: Any) -> Any:
    """Load four neighbouring floats."""
    return builder.load(builder.bitcast(builder.gep(array.data, [first]), FOUR.as_pointer()), align=8)


def _transposed(builder: Any, vectors: list[Any]) -> list[Any]:
    """Return rows of the 4 x 4 matrix that has these columns."""

    def chosen(one: Any, other: Any, *numbers: int) -> Any:
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), 4), numbers))

    even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
    halves = [chosen(*vectors[k : k + 2], *numbers) for numbers in (even, odd) for k in (0, 2)]
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return [chosen(*halves[k : k + 2], *numbers) for numbers in (low, high) for k in (0, 2)]
