"""Logs that lm_eval wrote (`tests/make_logs.py`), against its own results and probabilities computed from the text."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc

LOGS = Path(__file__).parent / "logs"
(LAW,) = (LOGS / "lm_eval" / "small").glob("samples_law_*.jsonl")
MODELS = ("large", "small")


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def changed(tmp_path, change, model="small", task="law"):
    """Write the samples of a task again, each changed by a function of its number and record."""
    (source,) = (LOGS / "lm_eval" / model).glob(f"samples_{task}_*.jsonl")
    records = [change(i, record) or record for i, record in enumerate(lines(source))]
    path = tmp_path / source.name
    path.write_text("\n".join(map(json.dumps, records)))
    return path


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("score", ["acc", "acc_norm"])
def test_accuracies_are_those_that_the_program_reports(model, score):
    (results,) = (LOGS / "lm_eval" / model).glob("results_*.json")
    reported = json.loads(results.read_text())["results"]
    answers = bc.read.lm_eval(LOGS / "lm_eval" / model, score=score)
    assert set(answers.subjects) == set(reported) == {"law", "physics", "chemistry"}
    for subject, values in reported.items():
        assert answers.correct[answers.subject == subject].mean() == values[f"{score},none"]


def test_confidences_are_the_softmax_of_the_choices():
    (path,) = (LOGS / "lm_eval" / "small").glob("samples_law_*.jsonl")
    answers = bc.read.lm_eval(path)
    norm = bc.read.lm_eval(path, score="acc_norm")
    for i, record in enumerate(lines(path)):
        logs = [float(value) for value, _ in record["filtered_resps"]]
        assert answers.confidence[i] == pytest.approx(max(map(math.exp, logs)) / sum(map(math.exp, logs)), abs=1e-14)
        per_character = [v / len(c) for v, c in zip(logs, record["doc"]["choices"], strict=True)]
        shares = [math.exp(v) for v in per_character]
        assert norm.confidence[i] == pytest.approx(max(shares) / sum(shares), abs=1e-14)
    assert len({len(record["filtered_resps"]) for record in lines(path)}) > 1


def test_rows_are_those_of_evaluate_and_compare():
    answers = bc.read.lm_eval(LOGS / "lm_eval")
    assert sorted(answers.models) == [*MODELS]
    small = answers.by_model()["small"]
    groups = bc.evaluate(**small.rows(), rng=1)
    assert list(groups) == list(small.subjects)
    whole = bc.evaluate(small.correct, small.confidence, target="confidence", rng=1)
    assert groups.overall.plug_in == bc.evaluate(**small.rows(by=None), rng=1).plug_in == whole.plug_in
    assert bc.compare(**bc.read.matched(answers), rng=1).names == answers.models
    with pytest.raises(ValueError, match=r"of 2 models, \['large', 'small'\]"):
        answers.rows()


def test_files_wildcards_and_lists_are_the_same_as_a_folder():
    folder = LOGS / "lm_eval" / "small"
    whole = bc.read.lm_eval(folder)
    for paths in (
        folder / "*",
        str(folder / "samples_*.jsonl"),
        sorted(folder.glob("samples_*")),
        [folder, *folder.glob("sam*")],
    ):
        assert bc.read.lm_eval(paths).confidence.tolist() == whole.confidence.tolist()
    with pytest.raises(FileNotFoundError, match=r"samples_\*\.jsonl"):
        bc.read.lm_eval(LOGS / "inspect_eval")


@pytest.mark.parametrize("written", [0.0, 1.0])
def test_a_score_that_contradicts_the_choices_is_refused(tmp_path, written):
    path = changed(tmp_path, lambda i, record: record | {"acc": written})
    wrong = [i for i, record in enumerate(lines(path)) if bc.read.lm_eval(LAW).correct[i] != written]
    with pytest.raises(ValueError, match=rf"`acc` .* {len(wrong)} of 8 records .* first document {wrong[0]}"):
        bc.read.lm_eval(path)


def test_numbers_in_place_of_text_and_targets_as_words(tmp_path):
    def numbers(i, record):
        pairs = [[float(value), False] for value, _ in record["filtered_resps"]]
        return record | {
            "filtered_resps": pairs,
            "target": record["doc"]["choices"][int(record["target"])],
            "acc": None,
        }

    path = changed(tmp_path, numbers)
    (source,) = (LOGS / "lm_eval" / "small").glob("samples_law_*.jsonl")
    ours, theirs = bc.read.lm_eval(path), bc.read.lm_eval(source)
    assert ours.correct.tolist() == theirs.correct.tolist()
    assert ours.confidence.tolist() == theirs.confidence.tolist()


def test_a_target_that_is_not_in_the_log_leaves_the_score_of_the_log(tmp_path):
    path = changed(tmp_path, lambda i, record: record | {"target": "nobody"} if i < 2 else None)
    answers = bc.read.lm_eval(path)
    assert answers.correct.mean() == 0.5
    assert answers.remarks[0].startswith("The right choice of 2 questions")
    path = changed(tmp_path, lambda i, record: record | {"target": "nobody", "acc": None} if i == 2 else None)
    with pytest.raises(ValueError, match=r"1 of 8 records have neither, first document 2"):
        bc.read.lm_eval(path)


def test_likelihoods_without_the_context_are_left_out(tmp_path):
    def doubled(i, record):
        return (
            record
            | {"filtered_resps": record["filtered_resps"] + [["-0.1", "True"]] * len(record["resps"])}
            | {"metrics": ["acc", "acc_mutual_info"]}
        )

    (source,) = (LOGS / "lm_eval" / "small").glob("samples_law_*.jsonl")
    assert (
        bc.read.lm_eval(changed(tmp_path, doubled)).confidence.tolist() == bc.read.lm_eval(source).confidence.tolist()
    )


@pytest.mark.parametrize("value", ["nan", "-inf"])
def test_no_likelihood_is_a_missing_confidence(tmp_path, value):
    path = changed(tmp_path, lambda i, r: r | {"filtered_resps": [[value, "False"]] * 3} if i == 0 else None)
    with pytest.raises(ValueError, match=r"`abstain` .* of 8 answers, 1 has no confidence \(first question 'law/0'\)"):
        bc.read.lm_eval(path)
    dropped = bc.read.lm_eval(path, abstain="drop")
    assert (len(dropped), dropped.dropped) == (7, 1)


@pytest.mark.parametrize("written", [0.43, 7])
def test_scores_of_choices_are_0_or_1(tmp_path, written):
    path = changed(tmp_path, lambda i, r: r | {"target": "nobody", "acc": written} if i == 2 else None)
    with pytest.raises(ValueError, match=rf"1 of 8 .* first {written} of document 2 in"):
        bc.read.lm_eval(path)


def with_run(tmp_path, delimiter, task="law.v1", **run):
    """Write the samples of a task with another delimiter before the choices, and the results of the run."""

    def delimited(i, record):
        texts = {
            key: {"arg_0": "?", "arg_1": delimiter + each["arg_1"][1:]} for key, each in record["arguments"].items()
        }
        return record | {"arguments": texts}

    path = changed(tmp_path, delimited)
    path = path.rename(path.with_name(path.name.replace("law", task)))
    time = path.name.removeprefix(f"samples_{task}_").removesuffix(".jsonl")
    (tmp_path / f"results_{time}.json").write_text(json.dumps({"model_name": "m", **run}))
    return path


@pytest.mark.parametrize(
    ("delimiter", "config", "run"),
    [
        ("", {"target_delimiter": ""}, {}),
        ("-> ", {"target_delimiter": "-> "}, {}),
        ("", {"target_delimiter": "t"}, {"chat_template": "{{ messages }}"}),
        (" ", {"target_delimiter": " ", "gen_prefix": "Answer:"}, {"chat_template": "{{ messages }}"}),
    ],
)
def test_lengths_are_those_of_the_choices_without_the_delimiter(tmp_path, delimiter, config, run):
    """Under a chat template the program writes no delimiter, unless after a prefix without a blank."""
    path = with_run(tmp_path, delimiter, configs={"law.v1": config}, **run)
    expected = bc.read.lm_eval(LAW, score="acc_norm").confidence
    assert bc.read.lm_eval(path, score="acc_norm").confidence.tolist() == expected.tolist()


def test_choices_that_begin_with_a_blank_keep_it(tmp_path):
    """Without a delimiter, a blank belongs to the choice."""
    path = with_run(tmp_path, " ", configs={"law.v1": {"target_delimiter": ""}})
    (first, *_) = lines(path)
    logs = [float(value) for value, _ in first["filtered_resps"]]
    shares = [math.exp(v / (len(c) + 1)) for v, c in zip(logs, first["doc"]["choices"], strict=True)]
    records = [record | {"acc_norm": None} for record in lines(path)]
    path.write_text("\n".join(map(json.dumps, records)))
    confidence = bc.read.lm_eval(path, score="acc_norm").confidence[0]
    assert confidence == pytest.approx(max(shares) / sum(shares), abs=1e-14)


def test_an_empty_choice_has_no_length(tmp_path):
    def emptied(i, record):
        record["arguments"]["gen_args_1"]["arg_1"] = " " if i == 3 else record["arguments"]["gen_args_1"]["arg_1"]

    with pytest.raises(ValueError, match=r"document 3 of 'samples_law.* has an empty choice"):
        bc.read.lm_eval(changed(tmp_path, emptied), score="acc_norm")


def test_confidences_of_choices_have_no_other_place():
    with pytest.raises(ValueError, match="`confidence` must be left out for multiple choice"):
        bc.read.lm_eval(LAW, confidence="doc.p")


def written_answers(tmp_path, change, name="samples_written_2026-01-01T00-00-00.jsonl"):
    (source,) = (LOGS / "lm_eval_written").rglob("samples_*.jsonl")
    records = [change(i, record) or record for i, record in enumerate(lines(source))]
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_several_responses_need_a_place_of_the_confidence(tmp_path):
    path = written_answers(
        tmp_path, lambda i, r: r | {"resps": [[r["resps"][0][0], "B 20%", "B 30%"]], "filter": "maj"}
    )
    records = lines(path)[:8]
    path.write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(ValueError, match=r"`confidence` must say .*: document 0 of .* has 3 responses"):
        bc.read.lm_eval(path, abstain="wrong")
    answers = bc.read.lm_eval(path, confidence="resps.0.2", pattern=r"B (\d+)", abstain="drop")
    assert set(answers.confidence.tolist()) == {0.3}


def test_partial_scores_of_generated_answers(tmp_path):
    path = written_answers(tmp_path, lambda i, r: r | {"exact_match": 0.5} if i == 4 else None)
    with pytest.raises(ValueError, match=r"first 0\.5 of document .*Name a score that is 0 or 1\.$"):
        bc.read.lm_eval(path, filter_name="strict")


def test_a_filter_that_one_task_lacks(tmp_path):
    (source,) = (LOGS / "lm_eval_written").rglob("samples_*.jsonl")
    shutil.copy(source, tmp_path)
    shutil.copy(LAW, tmp_path)
    answers = bc.read.lm_eval(tmp_path, filter_name="flexible", abstain="drop")
    assert answers.subjects == ("law", "written")
    assert answers.remarks[-1].startswith(
        "1 logs have a single filter that is not 'flexible'; it is used, first 'none'"
    )
    with pytest.raises(ValueError, match=r"has no filter 'flexibel'; its filters are"):
        bc.read.lm_eval(tmp_path, filter_name="flexibel", abstain="drop")
    with pytest.raises(ValueError, match="no log has the filter 'strict'; the first has only 'none'"):
        bc.read.lm_eval(LAW, filter_name="strict")


def test_clusters_lie_within_tasks(tmp_path):
    for task in ("law", "physics"):
        changed(tmp_path, lambda i, r: r | {"doc": {"p": i // 4}}, task=task)
    clusters = bc.read.lm_eval(tmp_path, cluster="doc.p").cluster
    assert sorted(set(clusters.tolist())) == ["law/0", "law/1", "physics/0", "physics/1"]


def test_other_documents_of_the_same_number_are_not_matched(tmp_path):
    """The second model was asked other questions, or with other targets, in the same order."""
    small = bc.read.lm_eval(LAW)
    for field in ("doc_hash", "target_hash"):
        other = bc.read.lm_eval(
            changed(tmp_path, lambda i, r, f=field: r | {f: "0"} if i == 3 else None, model="large")
        )
        with pytest.raises(ValueError, match=r"the content of 1 of 8 answers differs between 'a' and 'b', .* 'law/3'"):
            bc.read.matched({"a": small, "b": other})
    path = changed(tmp_path, lambda i, r: r | {"doc_hash": "0"} if i == 3 else None, model="large")
    path.write_text("\n".join(reversed(path.read_text().splitlines())))
    with pytest.raises(ValueError, match=r"the content of 1 of 8 answers .* first of question 'law/3'"):
        bc.read.matched({"a": small, "b": bc.read.lm_eval(path)})
    older = bc.read.lm_eval(changed(tmp_path, lambda i, r: {k: v for k, v in r.items() if "hash" not in k}))
    assert len(bc.read.matched({"a": small, "b": older})["y_true"]["a"]) == 8


def test_the_same_run_twice_is_refused(tmp_path):
    shutil.copytree(LOGS / "lm_eval" / "small", tmp_path / "small")
    shutil.copytree(LOGS / "lm_eval" / "small", tmp_path / "again")
    with pytest.raises(ValueError, match=r"24 of 48 answers .* question '\w+/0' of model 'small'"):
        bc.read.lm_eval(tmp_path)


def test_one_likelihood_is_no_confidence(tmp_path):
    path = changed(tmp_path, lambda i, record: record | {"filtered_resps": record["filtered_resps"][:1]})
    with pytest.raises(ValueError, match="at least two choices; document 0"):
        bc.read.lm_eval(path)


def test_filters_of_generated_answers_are_not_counted_twice():
    folder = LOGS / "lm_eval_written"
    with pytest.raises(ValueError, match=r"2 filters for the same answers: \['strict', 'flexible'\]"):
        bc.read.lm_eval(folder)
    (results,) = folder.rglob("results_*.json")
    reported = json.loads(results.read_text())["results"]["written"]
    for name in ("strict", "flexible"):
        answers = bc.read.lm_eval(folder, filter_name=name, abstain="wrong")
        assert len(answers) == 8
        assert answers.accuracy == reported[f"exact_match,{name}"]
        dropped = bc.read.lm_eval(folder, filter_name=name, abstain="drop")
        assert (dropped.dropped == 0) == (not dropped.remarks)
        assert len(dropped) + dropped.dropped == 8
        assert np.isin(dropped.confidence, [0.5, 0.7, 0.9]).all()


def test_subjects_of_documents():
    (path,) = (LOGS / "lm_eval" / "small").glob("samples_law_*.jsonl")
    answers = bc.read.lm_eval(path, subject="doc.answer")
    assert answers.subject.tolist() == [str(record["doc"]["answer"]) for record in lines(path)]
    with pytest.raises(ValueError, match=r"document 0 .* has no 'doc\.topic'"):
        bc.read.lm_eval(path, subject="doc.topic")
