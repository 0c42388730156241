"""Which names a pickle may mention."""

from __future__ import annotations

import pytest

from birthmark.checkpoints.pickle_globals import ALLOWED, check_global
from birthmark.errors import UnsafePickle

_REFUSED = """
os.system posix.system nt.system os.popen subprocess.Popen subprocess.check_output sys.modules sys.exit
builtins.eval builtins.exec builtins.compile builtins.open builtins.getattr builtins.__import__
builtins.type __builtin__.eval __builtin__.file __builtin__.apply importlib.import_module runpy.run_path
shutil.rmtree socket.socket ctypes.CDLL pty.spawn code.interact pickle.loads _pickle.loads cPickle.loads
dill.loads cloudpickle.loads operator.attrgetter operator.methodcaller _operator.attrgetter
functools.partial functools.reduce webbrowser.open torch.hub.load torch.load
torch.storage._load_from_bytes torch.serialization.load torch.jit.load
torch.fx.graph_module.reduce_graph_module torch.utils.cpp_extension.load types.FunctionType types.CodeType
codecs.open _codecs.decode copyreg.add_extension io.open _io.open numpy.testing._private.utils.runstring
numpy.f2py.crackfortran.myeval numpy.load numpy.fromfile numpy.core.multiarray.fromfile pandas.read_pickle
asyncio.create_subprocess_shell multiprocessing.Process timeit.timeit pdb.run bdb.Bdb.run cProfile.run
pip.main http.client.HTTPConnection urllib.request.urlopen requests.get sqlite3.connect exceptions.eval
"""
REFUSED = _REFUSED.split()

_HARMLESS = """
collections.OrderedDict collections.defaultdict builtins.set __builtin__.set __builtin__.unicode
builtins.frozenset builtins.complex _codecs.encode numpy.dtype numpy.ndarray numpy.core.multiarray.scalar
numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct
numpy.random._pickle.__randomstate_ctor torch._utils._rebuild_tensor_v2 torch.FloatStorage
torch.nn.modules.linear.Linear torch.nn.functional.relu torch.optim.adam.Adam torch.device torch.Size
argparse.Namespace pathlib.PosixPath datetime.datetime uuid.UUID enum.Enum __main__.Net models.code.Net
my.os_tools.Thing copyreg._reconstructor copy_reg._reconstructor types.SimpleNamespace io.BytesIO
torch.jit._pickle.build_intlist __torch__.models.Net test.Net utils.Net flax.core.frozen_dict.FrozenDict
jax._src.array._reconstruct_array pytorch_lightning.callbacks.Callback
"""
HARMLESS = _HARMLESS.split()


@pytest.mark.parametrize("path", REFUSED)
def test_names_that_could_run_something_are_refused(path: str) -> None:
    """The message holds the name and the file."""
    module, name = path.rsplit(".", 1)
    with pytest.raises(UnsafePickle, match=path.replace(".", r"\.")) as caught:
        check_global(module, name, "model.pt")
    assert "model.pt" in str(caught.value)


@pytest.mark.parametrize("path", HARMLESS)
def test_names_of_data_pass(path: str) -> None:
    """Containers, arrays, tensors and unknown classes pass."""
    module, name = path.rsplit(".", 1)
    check_global(module, name, "model.pt")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "hub.load"),
        ("torch.nn.modules.linear", "os.system"),
        ("logging", "os.system"),
        ("collections", "_sys.modules.__getitem__"),
        ("mymodule", "Thing.__reduce__"),
        ("mymodule", "Thing.__init__.__globals__"),
        ("six.moves.builtins", "eval"),
        ("", "os.system"),
    ],
)
def test_dotted_ways_into_refused_modules_are_refused(module: str, name: str) -> None:
    """An innocent module does not hide a dangerous attribute of it."""
    with pytest.raises(UnsafePickle):
        check_global(module, name, "model.pt")


def test_the_allowed_names_pass() -> None:
    """The list of exceptions is not shadowed by the list of refusals."""
    for path in ALLOWED:
        module, name = path.rsplit(".", 1)
    check_global(module, name, "model.pt")
