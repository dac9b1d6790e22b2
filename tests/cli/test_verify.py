import json

from cli.commands import run


def test_the_certificate_holds(model, table, capsys):
    assert run("verify", model, table, "--value rating") == 0
    printed = capsys.readouterr().out
    assert "pass  objective" in printed
    assert "the certificate holds" in printed
    assert "pass  status: status WITHIN_TOLERANCE" in printed
    assert ", gap " in printed


def test_every_command_says_that_a_bound_says_nothing(table, tmp_path, capsys):
    model, page = tmp_path / "rough.npz", tmp_path / "page.html"
    assert run("fit", table, "--value rating --radius 6 --exact off -o", model) == 0
    assert run("info", model) == 0
    fitted, shown = capsys.readouterr().out.split("written", 1)
    assert run("verify", model, table) == 0
    checked = capsys.readouterr().out
    for printed in (fitted, shown, checked):
        assert "no useful bound at this size" in printed
        assert "nothing is proven about how much better" in printed
        assert "an exact search (the option exact) proves more" in printed
        assert "of the objective)" not in printed
    assert run("report", model, table, "-o", page) == 0
    assert "no useful bound at this size" in page.read_text()


def test_the_gap_is_shown_where_the_bound_says_something(table, tmp_path, capsys):
    model = tmp_path / "proven.npz"
    how = "--value rating --radius 3 --rtol 1e-5 --exact enumeration"
    assert run("fit", table, how, "-o", model) == 0
    fitted = capsys.readouterr().out
    assert "OPTIMAL: The proven gap is within the tolerance" in fitted
    assert run("verify", model, table) == 0
    for printed in (fitted, capsys.readouterr().out):
        assert "gap " in printed
        assert "no useful bound" not in printed


def test_the_model_knows_its_value(model, table, capsys):
    assert run("verify", model, table, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["ok"] is True
    assert figures["n"] == 7
    assert {check["name"] for check in figures["checks"]} >= {"objective", "bound", "status"}


def test_other_values_fail(model, table, capsys):
    table.write_text(table.read_text().replace("ann,x,2,5", "ann,x,2,1"))
    assert run("verify", model, table) == 1
    printed = capsys.readouterr().out
    assert "FAIL  objective" in printed
    assert "certificate FAILS" in printed
    assert run("verify", model, table, "--quiet") == 1
    assert capsys.readouterr().out == ""


def test_a_check_that_takes_too_long_stays_open(model, table, capsys):
    assert run("verify", model, table, "--effort 1") == 0
    assert "not everything could be checked" in capsys.readouterr().out


def test_unknown_labels_are_refused(model, table, refused):
    table.write_text(table.read_text() + "dan,x,1,3\n")
    message = refused("verify", model, table)
    assert "label 'dan' in column 'user'" in message
    assert "do not fit together" in message


def test_unknown_columns_are_refused(model, table, refused):
    table.write_text(table.read_text().replace("user,", "person,"))
    assert "'user'" in refused("verify", model, table)
    table.write_text(table.read_text().replace("person,", "user,").replace("rating", "stars"))
    assert "'rating'" in refused("verify", model, table)


def test_rows_may_come_in_any_order(model, table):
    header, *lines = table.read_text().splitlines()
    table.write_text("\n".join([header, *reversed(lines)]) + "\n")
    assert run("verify", model, table, "-q") == 0
