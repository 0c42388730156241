"""numpy's and JAX's arrays in pickles."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from birthmark.checkpoints.numpy_objects import ArrayRef, extents
from birthmark.checkpoints.pickled import Span
from birthmark.errors import MalformedFile, UnsupportedFormat

KINDS = hnp.floating_dtypes(endianness="<") | hnp.integer_dtypes(endianness="<") | hnp.boolean_dtypes()


@settings(max_examples=150, deadline=None)
@given(array=hnp.arrays(KINDS, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)), data=st.data())
def test_arrays_of_every_protocol_have_their_shape_dtype_and_bytes(
    run: Any, array: NDArray[Any], data: Any
) -> None:
    """C-ordered and Fortran-ordered arrays are described so that numpy itself sees the same array."""
    if data.draw(st.booleans()):
        array = np.asfortranarray(array)

    root = run(pickle.dumps(array, data.draw(st.integers(0, 5)))).root

    assert isinstance(root, ArrayRef)
    assert root.shape == array.shape
    assert root.dtype == array.dtype.name
    assert isinstance(root.data, bytes)
    flat = np.frombuffer(root.data, array.dtype)
    seen = np.lib.stride_tricks.as_strided(flat, root.shape, [each * array.itemsize for each in root.strides])
    assert seen.tobytes() == array.tobytes()


def test_large_arrays_stay_in_the_file(run: Any) -> None:
    """The bytes of a large array are a span of the pickle."""
    array = np.arange(5000.0)
    raw = pickle.dumps({"a": array}, 4)

    root = run(raw).root.entries()["a"]

    assert isinstance(root.data, Span)
    assert raw[root.data.start : root.data.start + root.data.size] == array.tobytes()


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([1.0], ">f4"), "float32 (big-endian)"),
        (np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]), "a structured dtype"),
        (np.array([None, "x"]), "object"),
        (np.array(["abc"]), "U3"),
        (np.array([1], "M8[s]"), "M8"),
        (np.array([1 + 2j]), "complex128"),
    ],
)
def test_other_dtypes_are_described_and_not_decoded(run: Any, array: NDArray[Any], dtype: str) -> None:
    """Structured, foreign-endian, text and object arrays are listed under a name that is no float dtype."""
    assert run(pickle.dumps(array)).root.dtype == dtype


def test_scalars_are_no_tensors(run: Any) -> None:
    """A numpy scalar is an inert object, not an array."""
    root = run(pickle.dumps({"a": np.float32(1.5)})).root

    assert not isinstance(root.entries()["a"], ArrayRef)


@pytest.mark.parametrize("module", ["jax._src.array", "jax._src.device_array", "jax.interpreters.xla"])
def test_arrays_of_jax_are_arrays(run: Any, module: str) -> None:
    """JAX wraps numpy's way of pickling; the array inside is found, bfloat16 too."""
    name = "_reconstruct_array" if module.endswith(".array") else "reconstruct_device_array"
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntU\x01bt"
    dtype = b"cnumpy\ndtype\n(cml_dtypes\nbfloat16\nI00\nI01\ntR(I3\nU\x01<NNNI-1\nI-1\nI0\ntb"
    state = b"(I1\n(I2\nt" + dtype + b"I00\nU\x04\x80\x3f\x00\x40t"

    root = run(f"c{module}\n{name}\n(".encode() + array + state + b"}tR.").root

    assert (root.shape, root.dtype, root.data) == ((2,), "bfloat16", b"\x80\x3f\x00\x40")


def test_joblib_is_named(run: Any) -> None:
    """A joblib file is told from a broken pickle."""
    with pytest.raises(UnsupportedFormat, match="written by joblib"):
        run(b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81.")


ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n)R"
F4 = b"cnumpy\ndtype\n(U\x02f4I00\nI01\ntR"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (ARRAY + b"Nb.", "wrong form"),
        (ARRAY + b"(I1\n(I2\nt" + F4 + b"I00\nU\x04abcdtb.", "needs 8 bytes and has 4"),
        (ARRAY + b"(I1\n(I2\ntNI00\nU\x04abcdtb.", "no dtype"),
        (ARRAY + b"(I1\n(I2\nt" + F4 + b"I00\nNtb.", "no data"),
        (ARRAY + b"(I1\n(I-2\nt" + F4 + b"I00\nU\x04abcdtb.", "natural numbers"),
        (ARRAY + b"(I1\n(Ntt" + F4 + b"I00\nU\x04abcdtb.", "natural numbers|empty stack"),
        (F4 + b"Nb.", "wrong form"),
        (b"cnumpy\ndtype\n)R.", "not a code"),
        (b"cnumpy\ndtype\n(V" + b"f" * 50 + b"\ntR.", "not a code"),
        (b"cnumpy._core.numeric\n_frombuffer\n)R.", "too little"),
        (b"cjax._src.array\n_reconstruct_array\n)R.", "too little"),
    ],
)
def test_arrays_that_contradict_themselves_are_refused(run: Any, raw: bytes, reason: str) -> None:
    """Missing parts and wrong sizes are said."""
    with pytest.raises(MalformedFile, match=reason):
        run(raw)


@given(st.lists(st.integers(0, 2**63 - 1), max_size=6))
def test_extents_are_natural_numbers(shape: list[int]) -> None:
    """A list or tuple of natural numbers is a shape."""
    assert extents(shape) == extents(tuple(shape)) == tuple(shape)


@pytest.mark.parametrize("shape", [(-1,), (2**63,), (1.0,), (True,), "ab", None, [1] * 65, math.pi])
def test_other_extents_are_refused(shape: object) -> None:
    """Anything else is not."""
    with pytest.raises(MalformedFile):
        extents(shape)
