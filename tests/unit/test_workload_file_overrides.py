"""`--set a.b=c`: paths lead to keys, entries and names; values are YAML."""

import pytest

from gpu_opt.errors import InputError
from gpu_opt.workload_file.overrides import apply_overrides, path_steps


def data():
    return {"a": {"b": "1"}, "workloads": [{"name": "chat", "tokens": "3"}, {"name": "x.y"}], "empty": None}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a.b", ("a", "b")),
        ("workloads[0].tokens", ("workloads", 0, "tokens")),
        ("workloads.chat.tokens", ("workloads", "chat", "tokens")),
        ('prices.path["H100*"].annual_change', ("prices", "path", "H100*", "annual_change")),
        ("prices.path['p5.48xlarge']", ("prices", "path", "p5.48xlarge")),
        ("prices.path[H100*]", ("prices", "path", "H100*")),
        ("prices.'p5.x'.y", ("prices", "p5.x", "y")),
        ("prices.path.H100*.annual_change", ("prices", "path", "H100*", "annual_change")),
    ],
)
def test_a_path_is_keys_and_entries(text, steps):
    assert path_steps(text) == steps


@pytest.mark.parametrize("text", ["", ".", "a..b", "a[", "a[]", "a]b", "[0", "a.'b"])
def test_anything_else_is_no_path(text):
    assert path_steps(text) is None


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("a.b=2", ("a", "b"), "2"),
        ("workloads[0].tokens=15B", ("workloads", 0, "tokens"), "15B"),
        ("workloads.0.tokens=15B", ("workloads", 0, "tokens"), "15B"),
        ("workloads.chat.tokens=15B", ("workloads", 0, "tokens"), "15B"),
        ("workloads['x.y'].tokens=1", ("workloads", 1, "tokens"), "1"),
        ("empty.new.key={x: [1, 2]}", ("empty", "new", "key"), {"x": ["1", "2"]}),
        ("a.b=", ("a", "b"), None),
        ("a.b=x=y", ("a", "b"), "x=y"),
        ("workloads['x.y'] = {name: z}", ("workloads", 1), {"name": "z"}),
    ],
)
def test_a_value_is_set_where_its_path_leads(override, path, value):
    changed = data()
    assert apply_overrides(changed, [override]) == {path: f"--set {override}"}
    for step in path:
        changed = changed[step]
    assert changed == value


def test_later_overrides_win():
    changed = data()
    apply_overrides(changed, ["a.b=2", "a.b=3"])
    assert changed["a"]["b"] == "3"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("a.b", "it is not of the form path=value."),
        ("=3", "it is not of the form path=value."),
        ("a..b=3", "'a..b' is not a path."),
        ("workloads[7].tokens=3", "entry 7 of a list of 2. Entries count from 0."),
        ("workloads.absent.tokens=3", "no entry is named 'absent'. Known: chat, x.y."),
        ("a.b.c=3", "'a.b' holds no keys."),
        ("a.b=[1", "not YAML"),
        ("a.b=!!int 3", "is not allowed"),
        ("a.b=\udcff", "not UTF-8"),
    ],
)
def test_an_override_that_leads_nowhere_is_an_input_error(override, said):
    with pytest.raises(InputError) as error:
        apply_overrides(data(), [override])
    assert said in str(error.value)
    assert str(error.value).startswith("--set ")
