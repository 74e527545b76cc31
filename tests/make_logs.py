"""Write the logs of tests/read/logs with the programs themselves: lm_eval 0.4.13 and inspect_ai 0.3.285.

Run ``python tests/make_logs.py`` in an environment that has both; `FOLDER` may be given. Models are tables of numbers
that depend on the question only, so that a run gives the same answers again. What the programs write about the machine
(folders, versions of its packages, and the processor) is removed from their headers; samples are as they were written.
"""

import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

os.environ |= {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "INSPECT_DISPLAY": "none"}

FOLDER = Path(__file__).parent / "read" / "logs"
#: Question -> the right answer, for the model that is registered once.
ANSWERS: dict[str, str] = {}
SUBJECTS = ("law", "physics", "chemistry")
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: choices
doc_to_target: answer
metric_list:
"""
METRICS = "".join(
    f"  - {{metric: {name}, aggregation: mean, higher_is_better: true}}\n" for name in ("acc", "acc_norm")
)
WRITTEN = """\
task: written
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{choices[answer]}}}}"
generation_kwargs: {{until: ["###"]}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
filter_list:
  - name: strict
    filter: [{{function: regex, regex_pattern: "Answer: (\\\\w+)\\\\."}}, {{function: take_first}}]
  - name: flexible
    filter: [{{function: regex, regex_pattern: "(?i)answer\\\\W+(\\\\w+)"}}, {{function: take_first}}]
"""


def questions(subject: str, n: int) -> list[dict]:
    """Return questions with 2 to 5 choices."""
    rng = random.Random(subject)
    words = ["one", "two", "three", "eleven", "seventeen"]
    sizes = [rng.choice([2, 3, 4, 4, 5]) for _ in range(n)]
    return [
        {"question": f"{subject} {i}?", "choices": words[:size], "answer": rng.randrange(size)}
        for i, size in enumerate(sizes)
    ]


def write_tasks(folder: Path, n: int, subjects: tuple[str, ...] = SUBJECTS, metrics: str = METRICS) -> None:
    """Write tasks of lm_eval: a YAML file and a JSON file each."""
    for subject in subjects:
        data = folder / f"{subject}.jsonl"
        data.write_text("".join(json.dumps(each) + "\n" for each in questions(subject, n)))
        (folder / f"{subject}.yaml").write_text(TASK.format(name=subject, data=data) + metrics)
    data = folder / f"{subjects[0]}.jsonl"
    (folder / "written.yaml").write_text(WRITTEN.format(data=data))


def run_lm_eval(folder: Path, tasks: list[str], skill: float, name: str, output: Path | None) -> dict:  # noqa: C901
    """Evaluate a model that knows answers with `skill`, and return the results with all samples."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.api.registry import model_registry, register_model
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    for file in folder.glob("*.jsonl"):
        for line in map(json.loads, file.read_text().splitlines()):
            ANSWERS[line["question"]] = line["choices"][line["answer"]]

    class Table(LM):
        def __init__(self, skill=1.0, **_):
            super().__init__()
            self.skill = float(skill)

        @classmethod
        def create_from_arg_obj(cls, arg_dict, additional_config=None):
            return cls(**arg_dict)

        def loglikelihood(self, requests, disable_tqdm=False):
            pairs = []
            for context, choice in (each.args for each in requests):
                noise = random.Random(f"{context}{choice}{self.skill}").gauss(0, 1)
                pairs.append((1.7 * (noise + self.skill * (choice.strip() == ANSWERS[context])) - 8, noise > 1))
            return pairs

        def generate_until(self, requests, disable_tqdm=False):
            texts = []
            for context in (each.args[0] for each in requests):
                rng = random.Random(f"{context}{self.skill}")
                word = ANSWERS[context] if rng.random() < 0.6 else "none"
                text = f"{rng.choice(['Answer:', 'ANSWER:'])} {word}. Confidence: {rng.choice([50, 70, 90])}%"
                texts.append("I cannot say." if rng.random() < 0.1 else text)
            return texts

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise NotImplementedError

    if "table" not in model_registry:
        register_model("table")(Table)
    tracker = EvaluationTracker(output_path=str(output)) if output else None
    results = lm_eval.simple_evaluate(
        model="table",
        model_args={"skill": skill, "pretrained": name},
        tasks=tasks,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
    )
    if tracker:
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        for task, rows in samples.items():
            tracker.save_results_samples(task_name=task, samples=rows)
        results["samples"] = samples
    return results


def run_inspect(folder: Path, kind: str, n: int, epochs: int, model: str = "mockllm/small", metrics=()) -> list:  # noqa: C901
    """Write two logs of inspect: answers in text with stated confidences, graded by several scorers."""
    import inspect_ai
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score, accuracy, match, scorer
    from inspect_ai.solver import solver

    @solver
    def from_table():
        async def solve(state, generate):
            rng = random.Random(f"{state.sample_id}{state.epoch}{model}")
            right, grade = rng.random() < 0.7, rng.random()
            said = rng.choice([0.5, 0.7, 0.9, 1.0])
            word = state.target.text if right else "nothing"
            text = f"I think about it. Confidence: 10 %, at first.\nConfidence: {said:.0%}\nANSWER: {word}"
            state.output = ModelOutput.from_content(model, text if grade > 0.2 else "I do not know.")
            state.metadata["said"] = said
            return state

        return solve

    @scorer(metrics=[accuracy(), *metrics])
    def graded():
        async def score(state, target):
            text = state.output.completion
            value = "N" if "ANSWER" not in text else "C" if text.endswith(target.text) else "I"
            return Score(value=value, answer=text, metadata={"confidence": state.metadata["said"]})

        return score

    @scorer(metrics=[accuracy()])
    def partly():
        async def score(state, target):
            text = state.output.completion
            if state.sample_id == 5:
                return Score.unscored(reason="grader_failed")
            return Score(value="P" if "ANSWER" not in text else "C" if text.endswith(target.text) else "I")

        return score

    @scorer(metrics=[accuracy()])
    def certainty():
        async def score(state, target):
            return Score(value=state.metadata["said"])

        return score

    def task(name: str) -> Task:
        samples = [Sample(id=i, input=f"{name} {i}?", target=f"word{i}") for i in range(n)]
        scorers = [graded(), match(), partly(), certainty()]
        return Task(name=name, dataset=samples, solver=from_table(), scorer=scorers, epochs=epochs)

    names = ("capitals", "sums")
    tasks = [task(name) for name in names]
    return inspect_ai.eval(tasks, model=model, log_dir=str(folder), log_format=kind, display="none", max_tasks=1)


def scrubbed(value):
    """Return JSON data without what a program wrote about the machine."""
    machine = {"pretty_env_info", "date", "git_hash", "upper_git_hash", "transformers_version", "packages", "revision"}
    if isinstance(value, dict):
        return {key: scrubbed(each) for key, each in value.items() if key not in machine}
    if isinstance(value, list):
        return [scrubbed(each) for each in value]
    return "removed" if isinstance(value, str) and str(Path(tempfile.gettempdir())) in value else value


def write_all(folder: Path) -> None:
    """Write all logs into `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        tasks = Path(temporary)
        write_tasks(tasks, 8)
        for name, skill in (("small", 0.8), ("large", 1.6)):
            run_lm_eval(tasks, list(SUBJECTS), skill, name, folder / "lm_eval")
        run_lm_eval(tasks, ["written"], 1.0, "writer", folder / "lm_eval_written")
        for file in folder.rglob("results_*.json"):
            file.write_text(json.dumps(scrubbed(json.loads(file.read_text())), indent=1) + "\n")
        for kind in ("eval", "json"):
            logs = tasks / kind
            for model in ("small", "large") if kind == "eval" else ("small",):
                run_inspect(logs, kind, 6, 2, f"mockllm/{model}")
            target = folder / f"inspect_{kind}"
            target.mkdir(parents=True)
            names = itertools.count(1)
            for file in sorted(logs.iterdir()):
                name = f"{next(names)}-{file.name.split('_')[1]}"  # without the time and the random id
                if kind == "json":
                    (target / f"{name}.json").write_text(
                        json.dumps(slim(scrubbed(json.loads(file.read_text())))) + "\n"
                    )
                else:
                    rewrite_eval(file, target / f"{name}.eval")


def slim(log):
    """Return a log, or a part of one, without the events and messages of samples, which are long."""
    for sample in log.get("samples") or [log]:
        if "events" in sample:
            sample |= {"events": [], "messages": [], "attachments": {}, "store": {}}
    return log


def rewrite_eval(source: Path, target: Path) -> None:
    """Copy an archive without what is about the machine, compressed as inspect does."""
    from inspect_ai._util.zipfile import zipfile_compress_kwargs

    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", **zipfile_compress_kwargs) as new:
        for name in dict.fromkeys(old.namelist()):
            if name == "header.json" or name.startswith("samples/"):
                new.writestr(name, json.dumps(slim(scrubbed(json.loads(old.read(name))))))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
