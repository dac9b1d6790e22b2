import json

from intensor.cli import main
from intensor.fitting.model_file import load


def test_what_is_in_a_model(model, capsys):
    assert main(["info", str(model)]) == 0
    printed = capsys.readouterr().out
    for word in ("7 observations", "OPTIMAL", "'ann', 'bob', 'cat'", "box of weight", "radius 6"):
        assert word in printed


def test_json(model, capsys):
    assert main(["info", str(model), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    fit = load(model)
    assert figures["labels"] == {"user": ["ann", "bob", "cat"], "item": ["x", "y"], "week": [1, 2]}
    assert figures["objective"] == fit.objective
    assert figures["validation"] is None
