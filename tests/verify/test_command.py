"""``bayescal verify``: what makes no sense is refused, and without anything to do it shows its help."""

import pytest


def test_without_anything_to_do_it_shows_its_help(run):
    done = run()
    assert done.exit_code == 2
    assert "--coverage" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "2"], "give FILE or --coverage"),
        (["FILE", "--coverage"], "FILE and --coverage are two checks"),
        (
            ["FILE", "--sizes", "300", "--repeats", "5"],
            "--sizes, --repeats cannot be used with FILE, only with --coverage",
        ),
        (["--coverage", "--label", "won"], "--label cannot be used with --coverage, only with FILE"),
        (["FILE", "--label", "won"], "say where the probabilities are"),
        (["FILE", "--label", "won", "--prob", "probability", "--model", "dirichlett"], "Did you mean 'dirichlet'"),
        (["FILE", "--label", "won", "--prob", "probability", "--json", "a.txt"], "--json writes .json files"),
    ],
)
def test_what_makes_no_sense_is_refused(file, arguments, said, run):
    done = run(*[file if a == "FILE" else a for a in arguments])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
