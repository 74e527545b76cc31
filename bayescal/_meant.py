"""Messages about unknown keywords and attributes, from the table of `_synonyms.toml`, and the mark of public functions.

`public` marks the public functions and classes. Unknown keywords and attributes are looked up only after Python has
refused them, so that a correct call costs no more than one call of a function.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import FunctionType, UnionType
from typing import Any, NoReturn

from bayescal import _checks, _lazy
from bayescal._described import described, with_imports
from bayescal._invalid import quoted
from bayescal._synonyms import (
    BINNINGS,
    COMPARE,
    COUNTS,
    EVALUATE,
    OPTIONS,
    OTHER_ROWS,
    PLAN,
    Meant,
    synonyms,
)


def letters(words: str) -> str:
    """Return only letters and digits, in lower case, so that spellings of one name are equal.

    >>> letters("over-confidence"), letters("l_2 error"), letters("ROC AUC")
    ('overconfidence', 'l2error', 'rocauc')
    """
    return "".join(filter(str.isalnum, words.casefold()))


@functools.cache
def _by_word() -> dict[str, list[Meant]]:
    """Return the rows of the table for each word, in their order; also for the names here."""
    table: dict[str, list[Meant]] = {}
    for meant in synonyms().rows:
        names = [] if meant.of else [letters(_head(each)) for each in meant.here if not re.search("[:=.]", each)]
        for word in dict.fromkeys([*meant.words.split(), *names]):
            table.setdefault(word, []).append(meant)
    return table


def _head(written: str) -> str:
    """Return the name at the beginning of code."""
    return re.match(r"\w*", written)[0]  # type: ignore[index]  # matches any text


def _rows(word: str, owners: Collection[str]) -> list[Meant]:
    rows = _by_word().get(letters(word), [])
    return sorted((each for each in rows if not each.of or set(each.of.split()) & set(owners)), key=lambda m: not m.of)


def _owners(where: str, thing: Any) -> set[str]:
    """Return the names under which the table may know a function or method: its own, its class and its topic."""
    public = _lazy.place_of(thing)[0] if hasattr(thing, "__name__") else ""
    return {where, where.partition(".")[0], public, *getattr(thing, "__module__", "").split(".")[1:2]} - {""}


def _elsewhere(
    rows: Iterable[Meant], owners: Collection[str], where: str = "", result_class: type | None = None
) -> str:
    """Return where a thing is otherwise; both places if a word has two meanings."""
    answers = []
    for each in rows:
        if places := _places(each, owners, where, result_class):
            answers.append(f" {each.says} `{'` or `'.join(places)}`.")
        elif not (each.here or each.elsewhere):
            answers.append(f" {each.says}")
    return "".join(answers[:2])


def _places(meant: Meant, owners: Collection[str], where: str, result_class: type | None) -> list[str]:
    """Return the codes with which a function or a result gets a thing: first its own call, then those of its topic."""
    topic, codes, no_picture = _topic_of(owners), [], synonyms().lists["NO_PICTURE"].split()
    for code in meant.elsewhere.split("` or `") if meant.elsewhere else ():
        base = next((each for each in (EVALUATE, COUNTS, COMPARE, PLAN) if code.startswith(each)), "")
        of_topic = [each for each in synonyms().topics[topic] if ("Counts." in each) == (base == COUNTS)]
        rest = code.removeprefix(base)
        names = [where] if rest != ")" else []
        names.append(where.removesuffix("_counts"))
        calls = [each for name in names for each in of_topic if _path(each) == name] + (of_topic if topic else [])
        if (base, rest) == (COMPARE, ")"):
            calls = [each for each in calls if _path(each).endswith("compare")]
        if moved := next((each for each in calls if base and _fits(each, rest)), ""):
            codes.append(_joined(moved, rest))
        elif code.startswith("result.") and not meant.of:
            codes += [code] if result_class is None or _has(result_class, code.removeprefix("result.")) else []
        elif code == "bayescal.plot(result)":
            prints = hasattr(result_class, "sheet")
            codes += [code] if not result_class or (prints and result_class.__name__ not in no_picture) else []
        else:
            named = meant.of and (topic not in OTHER_ROWS or topic in meant.of.split())
            of_package = code.startswith(("bayescal.", "monitor."))
            right = named or not topic or not of_package or _topic(code) == topic
            # another quantity of the same rows
            quantity = topic not in OTHER_ROWS and code != f"{COMPARE})" and not re.search(r", \w+=", code)
            codes += [code] if right or quantity else []
    if any(".interval(" in each for each in codes):  # a single number has no band
        codes = [each for each in codes if not each.startswith("result.band(")]
    return list(dict.fromkeys(codes))[:2]


def _topic_of(owners: Collection[str]) -> str:
    return next((each for each in synonyms().topics if each in owners), "")


def _path(call: str) -> str:
    """Return how messages name the function that a call in the names of the reader begins with."""
    return call.partition("(")[0].removeprefix("bayescal.").replace("monitor.", "CalibrationMonitor.")


def _function(call: str) -> Any:
    """Return the function or method that a call in the names of the reader ends with.

    >>> _function("bayescal.cumulative.difference(y_true, y_prob).posterior(").__name__
    'posterior'
    """
    thing: Any = sys.modules[_lazy.PACKAGE]
    path = re.match(r"[\w.]+(\(\)\.\w+)*", re.sub(r"\([^()]*\)\.", "().", call))[0]  # type: ignore[index]  # a name
    for name in path.removeprefix("bayescal.").replace("monitor.", "CalibrationMonitor.").split("."):
        thing = getattr(thing, name.removesuffix("()"))
        thing = made_by(thing) if name.endswith("()") else thing
    return thing


def made_by(function: Any) -> type:
    """Return the class of what a function returns, the first of several; `object` if it is no class."""
    if isinstance(function, type):
        return function
    annotation = inspect.signature(function).return_annotation
    first = annotation.__args__[0] if isinstance(annotation, UnionType) else annotation
    return first if isinstance(first, type) else object


def _topic(code: str) -> str:
    """Return the topic of the function with which code begins; empty for the others."""
    folder = _function(code.partition("(")[0]).__module__.split(".")[1]
    return folder if folder in synonyms().topics else ""


@functools.cache
def _fits(call: str, rest: str) -> bool:
    """Return whether a function takes the keywords with which its call goes on, and its result has the attribute."""
    function, words = _function(call), re.findall(r", (\w+)=", re.sub(r"\([^()]*\)", "", rest))
    parameters = inspect.signature(function).parameters
    known = {*parameters, *(OPTIONS if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else ())}
    attribute = re.search(r"\)\.(\w.*)$", rest)
    return known.issuperset(words) and (attribute is None or _has(made_by(function), attribute[1]))


def _has(kind: type, code: str) -> bool:
    """Return whether code after ``result.`` is right for a class: it has the attribute, which takes the keyword."""
    name, words = _head(code), re.findall(r"(\w+)=", code)
    if not hasattr(kind, name):
        return name in getattr(kind, "__dataclass_fields__", ())
    member = getattr(kind, name)
    return not words or (callable(member) and words[0] in inspect.signature(member).parameters)


def _joined(call: str, rest: str) -> str:
    """Return a call with the rest of another one; a keyword that it has already is not repeated."""
    word = re.match(r", (\w+)=", rest)
    if word and re.search(rf"\b{word[1]}=", call):
        return f"{call})"
    return call + (rest.removeprefix(", ") if call.endswith("(") else rest)


# --- attributes


def _of_rows(rows: Iterable[Meant], known: Collection[str], owners: Collection[str], kind: type | None = None) -> str:
    """Return the first name that is an attribute, or where else a thing is; may be empty."""
    for each in rows:
        for code in each.here:
            if _head(code) in known and not re.match(r"[\w.]+[:=]", code):
                return f" {each.says} `{code}`."
    return _elsewhere(rows, owners, result_class=kind)


def similar(name: str, known: Iterable[str]) -> str:
    """Return public names of similar spelling, after a space; may be empty."""
    return _checks.did_you_mean(name, [each for each in known if not each.startswith("_")])


def _public_names(topic: str) -> Collection[str]:
    names: Collection[str] = import_module(f"{_lazy.PACKAGE}.{topic}").__all__
    return names


def of_module(name: str, module: str, listed: Iterable[str]) -> str:
    """Return where in the package a thing is, or public names of similar spelling, after a space; may be empty.

    `name` was looked up in `module`, the package or one of its public modules, whose public names are `listed`.

    >>> of_module("evalute_survival", "bayescal", ["evaluate"])
    ' Did you mean `bayescal.survival.evaluate` or `bayescal.survival.evaluate_counts` or `bayescal.survival.compare`?'
    >>> of_module("compair", "bayescal.survival", ["compare", "evaluate"])
    ' Did you mean `bayescal.survival.compare`?'
    """
    owners = {module.rpartition(".")[2]}
    rows = _rows(name, owners)
    if elsewhere := _elsewhere([each for each in rows if each.of], owners) or _elsewhere(rows, owners):
        return elsewhere
    names = {each: f"{module}.{each}" for each in listed}
    if module == _lazy.PACKAGE:
        if inside := [f"`{module}.{topic}.{name}`" for topic in _lazy.MODULES if name in _public_names(topic)]:
            return f" Did you mean {' or '.join(inside)}?"
        names = {each: f"{module}.plugins.{each}" for each in _lazy.PLUGINS} | names
        names = {each: _lazy.written(each) for each in _lazy.former_names()} | names
    # a verb of another topic is no misspelled function of this one
    similar = _checks.nearest(name, names) if module == _lazy.PACKAGE else get_close_matches(name, names, cutoff=0.7)
    near = [names[each] for each in similar if not each.startswith("_")]
    if near:
        return f" Did you mean {' or '.join(f'`{each}`' for each in dict.fromkeys(near))}?"
    functions = [f"`{names[each]}`" for each in listed if each.islower()]
    return "" if module == _lazy.PACKAGE or not functions else f" Its functions are {', '.join(functions)}."


def attributes(module: str, listed: Iterable[str]) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module without a stub, whose public names are listed."""

    def refuse(name: str) -> NoReturn:
        hint = "" if name.startswith("_") else of_module(name, module, listed)
        raise AttributeError(f"module {module!r} has no attribute {name!r}.{hint}")

    return refuse


def _of_parts(result: Any, name: str) -> str:
    """Name the attribute of the first part of a result that holds several."""
    labels: Sequence[Any] = next((getattr(result, each) for each in ("labels", "names") if each in dir(result)), ())
    if not len(labels) or not hasattr(type(result), "__getitem__") or name not in dir(part := result[labels[0]]):
        return ""
    if name in getattr(type(part), "_refused", ()):
        return ""
    member = getattr(type(part), name, None)
    call = "()" if callable(member) and not _needed(member) else ""
    return f" Each of its parts has it, as in `result[{labels[0]!r}].{name}{call}`."


def _needed(method: Any) -> list[str]:
    """Return the parameters without a default, except for `self`."""
    named = (each for each in inspect.signature(method).parameters.values() if each.kind.name[:3] != "VAR")
    return [each.name for each in named if each.default is each.empty][1:]


def no_attribute(result: Any, name: str) -> NoReturn:
    """Raise an `AttributeError` that names what may be meant; a class may say more in ``_instead(name)``."""
    kind = type(result)
    if hasattr(kind, name):  # a property that raised AttributeError itself
        object.__getattribute__(result, name)
    hint = ""
    if not name.startswith("_"):
        owners = {each.__name__ for each in kind.__mro__} | _owners(kind.__name__, kind)
        known, rows = set(dir(result)), _rows(name, owners)
        hint = _of_rows([each for each in rows if each.of], known, owners, kind)
        hint = hint or (kind._instead(result, name) if hasattr(kind, "_instead") else "")
        hint = hint or _of_rows(rows, known, owners, kind) or _of_parts(result, name)
        is_plot = name.startswith("plot_") and name in dir(sys.modules[_lazy.PACKAGE])
        hint = hint or (f" Use `bayescal.{name}(result)`." if is_plot else similar(name, known))
    raise AttributeError(f"{kind.__name__!r} has no attribute {name!r}.{hint}")


# --- keywords


class SeveralClassifiersError(TypeError):
    """Columns of several classifiers where a function takes one; the function that the user called says what to do."""

    message = ""  # the message without that
    name = ""  # of the argument
    labels: tuple[Any, ...] = ()  # of the classifiers, or of the columns of a data frame
    in_frame = False


#: Calls that compare several classifiers, by the function that was called with them or its topic.
_COMPARING = {
    "": "compare(y_true, {0})",
    "labels.judged": "labels.compare_judged(y_true, {0}, judge=judge)",
    "survival": "survival.compare(time, event, {0}, horizon=5)",
    "scores.multiclass_brier": "scores.compare(y_true, {0})",
    "scores.multiclass_log": "scores.compare(y_true, {0})",
}


def several_classifiers(
    message: str, name: str, labels: Iterable[Any], *, in_frame: bool = False, where: str = "", topic: str | None = None
) -> SeveralClassifiersError:
    """Return the error about several classifiers, with what to do in a function `where` of a topic if it is known."""
    labels, hint = tuple(labels), ""
    if topic is not None and labels and (name in ("risk", "score") or name.startswith("y_prob")):
        first = f"{name}[{labels[0]!r}]"
        columns = f"{{name: {name}[name] for name in {name}.columns}}" if in_frame else name
        compared = "" if in_frame and topic == "scores" else where if where in _COMPARING else topic
        call = _COMPARING.get(compared, "").format(columns)
        hint = f"{' Columns of several classifiers?' if in_frame else ''} Pass one classifier at a time, as `{first}`"
        hint += f", or compare them by `{call}`." if call and "Recalibration" not in where else "."
    error = SeveralClassifiersError(f"{message}{hint}")
    error.message, error.name, error.labels, error.in_frame = message, name, labels, in_frame
    return error


class UnknownKeywordError(TypeError):
    """A keyword that a function does not take; the function that the user called names itself in the message."""

    word = ""
    known: tuple[str, ...] = ()
    rest = ""


def unknown_keyword(
    where: str,
    word: str,
    known: Iterable[str],
    *,
    owners: Collection[str] = (),
    call: str = "",
    passed: Collection[str] = (),
    rest: str = "",
    result_class: type | None = None,
    deterministic: bool = False,
) -> UnknownKeywordError:
    """Return the error about the keyword `word` of the function `where`, which takes the keywords `known`.

    `owners` are names under which the table may know the function, `call` is a call with the necessary arguments and no
    closing parenthesis, and `rest` what to add if the table has no answer.
    """
    known, owners = tuple(known), owners or _owners(where, None)
    rows, hint = _rows(word, owners), ""
    for chosen in ([each for each in rows if each.of], rows):  # what a word means for this function counts alone
        for code in [code for each in chosen for code in each.here]:
            function_name, _, keyword = code.rpartition(":")
            name = keyword.partition("=")[0]
            if name in known and name not in passed and function_name in ("", where):
                shown = f": `{call}{_argument(keyword, call)})`" if call else ""
                hint = hint or f" Here it is called {name!r}{shown}."
        hint = hint or _elsewhere([each for each in chosen if each.of], owners, where, result_class)
        if not hint and deterministic and letters(word) in (*synonyms().lists["SEEDS"].split(), "rng"):
            hint = " It is deterministic: the same arguments give the same result."
    hint = hint or _elsewhere(rows, owners, where, result_class)
    if not hint:
        hint = ("" if rows else _checks.did_you_mean(word, known)) + rest  # a word of the table is not misspelled
        hint = hint or (f" Its keywords are {list(known)}." if known else " It takes no keywords.")
    error = UnknownKeywordError(f"`{where}` takes no {quoted(word)}.{hint}")
    error.word, error.known, error.rest = word, tuple(each for each in known if each not in passed), rest
    return error


def _argument(written: str, call: str) -> str:
    """Return how a keyword is added to a call; nothing if it is there already."""
    name = _head(written)
    if re.search(rf"\b{name}\b", call.partition("(")[2]):
        return ""
    comma = "" if call.endswith("(") else ", "
    return comma + (written if "=" in written else f"{name}=...")


def known_keywords(
    where: str,
    options: Collection[str],
    allowed: Callable[..., Any],
    others: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Raise if a model does not take an option."""
    if not options:
        return
    known = _keywords_only(allowed)
    for word in options:
        if word in known:
            continue
        rest = f" The options of {where} are {known}."
        if other := next((name for name, each in (others or {}).items() if word in _keywords_only(each)), ""):
            raise TypeError(f"{where} takes no {quoted(word)}. It is an option of {other}.{rest}")
        raise unknown_keyword(where.strip("`"), word, known, rest=rest)


def _keywords_only(function: Callable[..., Any]) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


# --- the mark of public functions and classes


def public[T: Any](thing: T) -> T:
    """Mark a public function or class, so that errors about its keywords and attributes say what may be meant.

    It accepts names of `SAME` and scikit-learn's names of ways to choose bins; its signature is unchanged. Descriptions
    of shared parameters, and imports of examples, are added to its docstring.
    """
    return _of_class(thing) if isinstance(thing, type) else _of_function(thing)  # type: ignore[return-value]  # a T


def _of_class(cls: type) -> type:
    for owner in cls.__mro__:
        if not owner.__module__.startswith(__package__ or "bayescal"):
            continue
        for name, member in list(vars(owner).items()):
            if name.startswith("_") and (name != "__init__" or owner is not cls):
                continue
            inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if isinstance(inner, FunctionType) and not hasattr(inner, "public"):
                outer = _of_function(inner)
                setattr(owner, name, type(member)(outer) if inner is not member else outer)
    cls.__doc__ = with_imports(cls.__doc__)
    created: Any = cls
    if created.__init__ is object.__init__ and not issubclass(cls, tuple):
        created.__init__ = _of_function(_no_arguments)
    if not hasattr(cls, "__getattr__") and not issubclass(cls, BaseException):
        created.__getattr__ = no_attribute
    return cls


def _no_arguments(self: Any) -> None: ...


#: Names that stand for other arguments: of functions with a column of weights, and of those that name the columns of
#: labels and of probabilities in another way than `evaluate`.
SAME = (
    {"sample_weight": "weights"},
    {"y_true": "outcome", "y_prob": "confidence"},
    {"y_true": "label", "y_prob": "prob"},
    {"y_true": "label", "y_prob": "probabilities"},
    {"y_true": "response", "y_prob": "score"},
)


def _of_function[F: Callable[..., Any]](function: F) -> F:
    code = _innermost(function).__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    same: dict[str, str] = {}
    for names in SAME:
        if {*names.values()} <= {*parameters} and not names.keys() & {*parameters, *same}:
            same |= names
    refused, way = functools.partial(_refused, function), _way  # not global: `called` has those of another module

    def called(*args: Any, **keywords: Any) -> Any:
        for word, name in same.items():
            if word in keywords:
                if keywords.get(name) is not None:
                    raise TypeError(f"`{name}` and `{word}` are the same argument: give one of them.")
                keywords[name] = keywords.pop(word)
        if "binning" in keywords:
            keywords["binning"] = way(keywords["binning"])
        try:
            return function(*args, **keywords)
        except TypeError as problem:
            if (better := refused(problem, args, keywords)) is None:
                raise
            raise better from None

    # with the globals of the other module, since doctest ignores functions that seem to be imported
    same_module = FunctionType(called.__code__, function.__globals__, closure=called.__closure__)
    functools.update_wrapper(same_module, function)
    same_module.__doc__ = with_imports(described(_innermost(function)))
    same_module.public = True  # type: ignore[attr-defined]  # functions have no such member
    return same_module  # type: ignore[return-value]  # it is called as an F


def _refused(
    function: Callable[..., Any], problem: TypeError, args: tuple[Any, ...], keywords: dict[str, Any]
) -> TypeError | None:
    """Return the error about a call that Python or a model refused, with what may be meant; None for other errors."""
    if instead := _of_other_rows(function, [*args, *keywords.values()]):
        return TypeError(f"`{_public_name(function, args)}` takes no {instead}")
    several = isinstance(problem, SeveralClassifiersError) and bool(problem.message)
    named = isinstance(problem, UnknownKeywordError) and problem.word in keywords
    if not (several or named or _is_from_call(function, problem)):
        return None
    name, kind = _public_name(function, args), _kind(function, args)
    owners = _owners(name, kind or function)
    if isinstance(problem, SeveralClassifiersError):
        where = {"where": name, "topic": _topic_of(owners)}
        return several_classifiers(problem.message, problem.name, problem.labels, in_frame=problem.in_frame, **where)
    parameters = {each.name: each for each in inspect.signature(function).parameters.values()}
    method = kind is not None
    accepted = dict(list(parameters.items())[1:]) if method else parameters
    known = [each.name for each in accepted.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    passed = {*known[: len(args) - method], *keywords}
    needed = [each for each in accepted.values() if each.default is each.empty and each.name in known]
    call = ", ".join(each.name if each.kind is not each.KEYWORD_ONLY else f"{each.name}=..." for each in needed)
    result_class = made_by(function)
    options: dict[str, Any] = {
        "owners": owners,
        "passed": passed,
        "result_class": result_class if kind is None or result_class.__module__.startswith(_lazy.PACKAGE) else kind,
        "deterministic": "rng" not in (*known, *getattr(problem, "known", ())),
    }
    of_object = method and bool(args) and not isinstance(args[0], type) and "." in name
    call = f"{_snake_case(name) if of_object else name}({call}"
    if isinstance(problem, UnknownKeywordError) and named:
        known += [each for each in problem.known if each not in known]
        return unknown_keyword(name, problem.word, known, call=call, rest=problem.rest, **options)
    extra = [word for word in keywords if word not in accepted]
    if "unexpected keyword" in str(problem) and extra:
        return unknown_keyword(name, extra[0], known, call=call, **options)
    missing = [each.name for each in needed if each.name not in passed]
    for word in extra:  # it may be another name of an argument that is missing
        if any(code.rpartition(":")[2] in missing for each in _rows(word, owners) for code in each.here):
            return unknown_keyword(name, word, known, call=call, **options)
    message = str(problem).replace(f"{function.__qualname__}(", f"{name}(", 1).partition(" Did you mean")[0].rstrip(".")
    counts = _for_counts(function)
    counted = f" For counts, use `{counts}(counts)`." if counts else ""
    if hasattr(function.__globals__.get(function.__name__), "from_counts"):
        counted = f" For counts, use `{name}.from_counts(counts)`."
    more = f" {synonyms().calls[name]}" if name in synonyms().calls else ""
    return TypeError(f"{message}. Call it as `{call})`.{counted}{more}")


def _of_other_rows(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """Return what to do with an argument, or a value of a dict, whose class has its own way to functions of columns."""
    folder = function.__module__.rpartition(".")[0]
    held = [each for value in arguments for each in (value.values() if isinstance(value, dict) else [value])]
    kinds = [type(each) for each in held if hasattr(type(each), "_instead_of_rows")]
    return kinds[0]._instead_of_rows if kinds and kinds[0].__module__.rpartition(".")[0] != folder else ""


def _for_counts(function: Callable[..., Any]) -> str:
    """Return the public function for counts that is named as this one, followed by ``_counts``; may be empty."""
    module, name = _lazy.place_of(function)
    counted = f"{name}_counts"
    if counted in getattr(sys.modules[f"{_lazy.PACKAGE}.{module}".rstrip(".")], "__all__", ()):
        return f"{module}.{counted}".lstrip(".")
    return _lazy.written(counted).removeprefix(f"{_lazy.PACKAGE}.") if counted in _lazy.former_names() else ""


def _way(value: Any) -> Any:
    """Return this package's name of a way to choose bins, for one of scikit-learn's; of several, that of each."""
    if isinstance(value, list | tuple):
        return type(value)(_way(each) for each in value)
    return BINNINGS.get(value, value) if isinstance(value, str) else value


def _innermost(function: Any) -> FunctionType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _is_from_call(function: Callable[..., Any], problem: TypeError) -> bool:
    """Return whether Python refused the arguments, so that the function itself was not entered."""
    inner, trace = _innermost(function), problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is inner.__code__:
            return False
        trace = trace.tb_next
    return str(problem).startswith(f"{inner.__qualname__}(")


def _snake_case(method: str) -> str:
    """Return how a method of an object is written, as `draws.interval` for ``Draws.interval``."""
    kind, _, called = method.partition(".")
    return f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', kind).casefold()}.{called}"


def _kind(function: Callable[..., Any], args: tuple[Any, ...]) -> type | None:
    """Return the class of the object whose method was called; None for a function."""
    if _innermost(function).__code__.co_varnames[:1] not in (("self",), ("cls",)) or not args:
        return None
    return args[0] if isinstance(args[0], type) else type(args[0])


def _public_name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the name of a function, with its public module; of a method, with the class of its object."""
    owner, _, method = function.__qualname__.rpartition(".")
    if function is _no_arguments:
        owner, method = type(args[0]).__qualname__, "__init__"
    if owner and args:
        kind = args[0] if isinstance(args[0], type) else type(args[0])
        owner = kind.__qualname__ if any(each.__qualname__ == owner for each in kind.__mro__) else owner
    if not owner:
        return ".".join(filter(None, _lazy.place_of(function)))
    return owner if method == "__init__" else f"{owner}.{method}"
