"""Relations of small nets of which the truth is known: positive ones, and strangers that look alike."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.lineage.zoo import (
    COLUMNS,
    HIDDEN,
    ROWS,
    SCALE,
    UNUSED,
    InMemory,
    Net,
    born,
    compared,
    relation,
    told,
    trained,
)


def as_float32(net: dict[str, np.ndarray]) -> Net:
    """The same, rounded."""
    return {name: values.astype(np.float32) for name, values in net.items()}


STRUCTURES = ("rank one", "columns", "tied", "mean")


@pytest.fixture(scope="module")
def birth() -> Net:
    """One initial net."""
    return born(1)


@pytest.fixture(scope="module")
def model(birth: Net) -> Net:
    """Trained from it."""
    return trained(birth, 2)


def test_two_trainings_of_one_seed(birth: Net, model: Net) -> None:
    """Two nets trained apart from one birth are of one birth, by the rows that neither reached."""
    found = relation(model, trained(birth, 3))

    assert found.kind == "same-birth"
    assert found.shared == ("embed",)
    assert found.log10_p is not None
    assert found.log10_p < -100


def test_strangers_have_different_births(model: Net) -> None:
    """Another seed gives different draws in the untouched rows, and what would have been seen is said."""
    found = relation(model, trained(born(9), 3))

    assert found.kind == "different-births"
    assert not found.is_common
    assert "Seen would have been" in told(found)
    assert "Trials counted: 4" in told(found)


def test_one_start_without_untouched_rows(birth: Net) -> None:
    """Where training reached every row, several matrices that correlate in place show one start."""
    first, second = (trained(birth, seed, 1.5, everywhere=True) for seed in (4, 5))
    stranger = trained(born(9), 5, 1.5, everywhere=True)

    assert relation(first, second).kind == "one-start"
    assert relation(first, stranger).kind == "unrelated"
    assert relation(first, {name: values[:, ::-1] for name, values in second.items()}).kind == "unrelated"


def test_strangers_of_one_data_set() -> None:
    """Rows with the same loadings in both, on directions of either's own, are no start in common."""
    nets = []
    for seed in (1, 2):
        random, data = np.random.default_rng(seed), np.random.default_rng(0)
        nets.append(
            {
                name: data.standard_normal((ROWS, 3)) @ random.standard_normal((3, COLUMNS))
                + 0.3 * random.standard_normal((ROWS, COLUMNS))
                for name in ("one", "two", "three", "four")
            }
        )

    assert relation(*nets).kind == "unrelated"


@pytest.mark.parametrize(
    "kind",
    [
        "smooth",
        "heavy",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in STRUCTURES),
    ],
)
def test_structure_is_no_birth(kind: str) -> None:
    """Low rank, smooth rows, column profiles, heavy tails, tied rows, rows near a mean: never a birth."""
    found = []
    for seed in (1, 2):
        random, shared = np.random.default_rng(seed), np.random.default_rng(0)
        noise = random.standard_normal((ROWS, COLUMNS))
        made = {
            "rank one": random.standard_normal((ROWS, 1)) @ random.standard_normal((1, COLUMNS)),
            "smooth": np.cumsum(random.standard_normal((ROWS, 1)), axis=0)
            @ random.standard_normal((1, COLUMNS)),
            "columns": noise + 5.0 * shared.standard_normal((1, COLUMNS)),
            "heavy": random.standard_t(1.5, noise.shape) * np.exp(shared.standard_normal((ROWS, 1))),
            "tied": np.repeat(noise[:24], 10, axis=0),
            "mean": shared.standard_normal((1, COLUMNS)) + 0.2 * noise,
        }[kind]
        found.append({"table": made, "embed": SCALE * random.standard_normal((ROWS, COLUMNS))})

    assert relation(*found).kind in ("unrelated", "different-births")


def test_what_all_models_have(model: Net) -> None:
    """Ones, zeros, masks, sines and position grids are equal in strangers, and set aside by name."""
    angles = np.arange(128)[:, None] * 10000.0 ** (-np.arange(32) / 32)
    alike = {
        "norm": np.ones(512),
        "bias": np.zeros(512),
        "mask": np.tril(np.ones((64, 64))),
        "rotary": np.concatenate([np.sin(angles), np.cos(angles)], axis=1),
        "frequencies": 10000.0 ** (-np.arange(512) / 512),
        "ramp": np.linspace(-1.0, 1.0, 1024),
        "mel_filters": np.abs(np.random.default_rng(0).standard_normal((80, 20))),
    }

    found = relation({**model, **alike}, {**trained(born(9), 3), **alike})
    aside = [each.tensor for each in found.pairings if each.aside is not None]

    assert found.kind == "different-births"
    assert aside == list(alike)
    assert relation(alike, alike).kind == "not-compared"


@pytest.mark.parametrize("heads", [2, 4])
def test_fits_that_the_data_fix(heads: int) -> None:
    """Convex fits to one data set, normal and nearly equal, are no birth and no start: no row is one draw."""
    first, second = (
        {
            f"head{number}": np.random.default_rng(number).standard_normal((100, 64))
            + 1e-4 * np.random.default_rng(seed + number).standard_normal((100, 64))
            for number in range(heads)
        }
        for seed in (20, 30)
    )

    found = relation(first, second)

    assert found.kind == "related"
    assert "only data that fix the weights" in told(found)


def test_initial_weights_in_bfloat16(birth: Net) -> None:
    """Initial weights of which no row survived are one start with what was trained from them."""
    wide = {
        name: SCALE * np.random.default_rng(number).standard_normal((96, 64))
        for number, name in enumerate(birth)
    }
    tuned = {
        name: values.astype(np.float64)
        for name, values in trained(as_float32(wide), 3, everywhere=True).items()
    }
    other = trained(as_float32({name: values[::-1] for name, values in wide.items()}), 4, everywhere=True)

    assert relation(InMemory(wide, "bfloat16"), InMemory(tuned, "bfloat16")).kind == "one-start"
    assert relation(InMemory(wide, "bfloat16"), InMemory(other, "bfloat16")).kind == "unrelated"


def test_untouched_columns() -> None:
    """Inputs that are always zero leave columns of a first layer alone, and those prove the birth."""
    weights = np.random.default_rng(1).uniform(-0.036, 0.036, (64, 400)).astype(np.float32)
    dead = np.arange(40, 120)
    nets = []
    for seed in (2, 3):
        random = np.random.default_rng(seed)
        change = random.standard_normal((64, 5)) @ random.standard_normal((5, 400)) * 0.05
        change += 0.02 * random.standard_normal(change.shape) * random.gamma(2.0, 0.5, (1, 400))
        change[:, dead] = 0.0
        nets.append({"encoder": (weights + change).astype(np.float32)})

    found = relation(*nets)
    fresh = found.pairings[0].fresh
    other = relation(nets[0], {"encoder": np.roll(nets[1]["encoder"], 7, axis=0)})

    assert fresh is not None
    assert found.kind == "same-birth"
    assert (fresh.axis, fresh.same) == ("column", len(dead))
    assert other.kind != "same-birth"


def test_a_fine_tune_of_a_few_layers(model: Net) -> None:
    """Layers that were frozen have equal values: training was shared."""
    child = {**model, "third": trained(model, 8)["third"]}

    assert relation(model, child).kind == "descendant"


def test_a_merged_adapter(model: Net) -> None:
    """A difference of low rank in every trained layer is a merged adapter, and shared training."""
    random = np.random.default_rng(4)
    child = {
        name: values
        + (0.02 * random.standard_normal((len(values), 4)) @ random.standard_normal((4, values.shape[1])))
        for name, values in model.items()
    }

    found = relation(model, child)

    assert found.kind == "descendant"
    assert "rank 4 of" in told(found)
    assert "adapter" not in told(relation(model, trained(model, 6, 0.3)))


@pytest.mark.parametrize("dtype", [pytest.param("float16", marks=pytest.mark.slow), "bfloat16"])
def test_a_cast(model: Net, dtype: str) -> None:
    """A cast copy is identical up to rounding, and follows from the wider one."""
    found = relation(model, InMemory(model, dtype))

    assert (found.kind, found.how) == ("copy", f"up to rounding to {dtype}")
    assert found.later == 2
    assert "0 differ" in told(found)


@pytest.mark.slow
def test_two_casts_of_one_master(model: Net) -> None:
    """float16 and bfloat16 copies of one model are copies of each other, and neither follows."""
    found = relation(InMemory(model, "bfloat16"), InMemory(model, "float16"))

    assert found.kind == "copy"
    assert found.later is None


def test_a_trained_cast_is_no_copy(model: Net) -> None:
    """A cast of a model that was trained on is none of the first, but of one birth with it."""
    assert relation(model, InMemory(trained(model, 5), "bfloat16")).kind == "same-birth"


@pytest.mark.slow
def test_a_few_steps_in_bfloat16_are_no_scaled_copy(model: Net) -> None:
    """Values that moved by about one unit of bfloat16 are near everywhere, and no copy."""
    random = np.random.default_rng(1)
    moved = {
        name: values * (1.0 + 0.004 * random.standard_normal(values.shape)) for name, values in model.items()
    }

    assert relation(InMemory(model, "bfloat16"), InMemory(moved, "bfloat16")).kind != "copy"


@pytest.mark.slow
def test_scaled_and_pruned_copies(model: Net) -> None:
    """One factor, one factor a row, and zeros are told."""
    pruned = {
        name: np.where(np.abs(values) > np.quantile(np.abs(values), 0.8), values, 0.0)
        for name, values in model.items()
    }
    rows = {
        name: values * np.random.default_rng(1).uniform(0.5, 2.0, (len(values), 1))
        for name, values in model.items()
    }

    assert relation(model, {name: 0.731 * values for name, values in model.items()}).how == "scaled by 0.731"
    assert relation(model, rows).how == "with each row scaled by its own factor"
    assert relation(model, pruned).how == "with 80.0% of the values pruned to 0"
    assert relation(model, pruned).later == 2
    assert relation(trained(born(9), 1), pruned).kind in ("different-births", "unrelated")


@pytest.mark.parametrize("bits", [pytest.param(8, marks=pytest.mark.slow), 4])
def test_a_quantised_copy(model: Net, bits: int) -> None:
    """Values on a coarser grid, one scale to each row or group of 16, are a quantised copy."""
    top = 2.0 ** (bits - 1) - 1.0

    def coarse(values: np.ndarray) -> np.ndarray:
        groups = values.reshape(len(values), -1, 16 if bits == 4 else values.shape[1])
        step = np.abs(groups).max(axis=2, keepdims=True) / top
        rounded: np.ndarray = np.rint(groups / step) * step
        return rounded.reshape(values.shape)

    found = relation(model, {name: coarse(values) for name, values in model.items()})

    assert (found.kind, found.how, found.later) == ("copy", "quantised", 2)


def test_a_longer_and_a_shorter_vocabulary(birth: Net, model: Net) -> None:
    """Appended rows are named, and the leading ones compared, whether copied or trained on."""
    more = SCALE * np.random.default_rng(1).standard_normal((30, COLUMNS))
    longer = {**model, "embed": np.concatenate([model["embed"], more])}
    sibling = trained(birth, 3)

    assert relation(model, longer).how == "but for 30 rows more in the second"
    assert (
        relation({**model, "embed": model["embed"][:220]}, model).how == "but for 20 rows more in the second"
    )
    assert relation(longer, sibling).kind == "same-birth"


def test_a_vocabulary_in_another_order(model: Net) -> None:
    """Rows under other numbers are found, and are no different births."""
    order = np.random.default_rng(1).permutation(ROWS)

    found = relation(model, {**model, "embed": model["embed"][order]})

    assert (found.kind, found.how) == ("copy", "with rows in another order")


@pytest.mark.slow
def test_permuted_hidden_units(birth: Net, model: Net) -> None:
    """A birth whose hidden units were permuted is not called a different one."""
    order = np.random.default_rng(1).permutation(COLUMNS)
    sibling = trained(birth, 3)

    found = relation(model, {**sibling, "embed": sibling["embed"][:, order]})

    assert "another order" in told(found)
    assert found.kind != "different-births"


@pytest.mark.slow
def test_values_that_are_no_numbers(birth: Net, model: Net) -> None:
    """Infinite and undefined values are compared as such, and hide nothing."""
    odd = {
        name: np.where(values > 0.15, bad, values)
        for bad, (name, values) in zip((np.nan, np.inf, -np.inf, np.nan), model.items(), strict=True)
    }

    assert relation(odd, odd).kind == "identical"
    assert relation(odd, trained(birth, 3)).kind == "same-birth"
    assert relation(odd, trained(born(9), 3)).kind in ("different-births", "unrelated")


def test_a_part_that_was_drawn_anew(birth: Net, model: Net) -> None:
    """A new head on a shared body is one birth in part."""
    random = np.random.default_rng(1)
    heads = [SCALE * random.standard_normal((2 * HIDDEN, COLUMNS)) for _ in range(2)]

    found = relation({**model, "head": heads[0]}, {**trained(birth, 3), "head": heads[1]})

    assert found.kind == "same-birth"
    assert found.partial


def test_a_birth_through_a_third(birth: Net) -> None:
    """Two that share their birth with the initial weights, in rows of their own, share it with each other."""
    first, second = trained(birth, 2), trained(birth, 3)
    other = trained(birth, 4, everywhere=True)["embed"]
    second["embed"] = np.where((np.arange(ROWS) < 80)[:, None], birth["embed"], other)

    found = compared(birth, first, second).related

    assert [each.relation.kind for each in found] == ["same-birth"] * 3
    assert any("Both share their birth with 1" in reason for reason in found[2].relation.reasons)
    assert relation(first, second).kind != "same-birth"


@pytest.mark.slow
def test_names_behind_a_wrapper(birth: Net, model: Net) -> None:
    """A wrapper's prefix is seen through, and named."""
    found = compared(model, {f"module.{name}": values for name, values in trained(birth, 3).items()}).related[
        0
    ]

    assert found.relation.kind == "same-birth"
    assert found.prefixes == ("", "module.")


@pytest.mark.slow
def test_json_has_no_arrays(model: Net) -> None:
    """A lineage is plain JSON."""
    found = compared(model, trained(born(9), 3), InMemory(model, "bfloat16")).as_dict()

    assert json.loads(json.dumps(found, allow_nan=False))["schema"] == "birthmark.lineage/2"
    assert len(UNUSED) == 80
