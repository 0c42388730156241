"""Which names a pickle may mention.

Nothing that a pickle names is ever imported here, so none of them can act. A name that could run something in
another reader is still refused, aloud: a file that asks for it is not a plain checkpoint, and the user should
know. Names of unknown classes become inert placeholders.

The refused names are those of the scanners picklescan, fickling and modelscan, widened.
"""

from __future__ import annotations

from typing import Final

from birthmark.checkpoints.strict_json import shown
from birthmark.errors import UnsafePickle

#: Names inside refused modules that hold data only.
ALLOWED: Final = frozenset(
    {
        *(f"builtins.{name}" for name in ("set", "frozenset", "dict", "list", "tuple", "bytes", "bytearray")),
        *(
            f"builtins.{name}"
            for name in ("str", "int", "float", "bool", "complex", "object", "slice", "range")
        ),
        *(
            f"builtins.{name}"
            for name in ("unicode", "long", "xrange", "Ellipsis", "NotImplemented", "NoneType")
        ),
        "_codecs.encode",
        "codecs.encode",
        "copyreg._reconstructor",
        "copyreg.__newobj__",
        "copyreg.__newobj_ex__",
        "io.BytesIO",
        "io.StringIO",
        "_io.BytesIO",
        "_io.StringIO",
        "types.SimpleNamespace",
        "types.NoneType",
        "torch.jit._pickle.build_intlist",
        "torch.jit._pickle.build_tensorlist",
        "torch.jit._pickle.build_doublelist",
        "torch.jit._pickle.build_boollist",
        "torch.jit._pickle.build_tensor_from_id",
        "torch.jit._pickle.restore_type_tag",
        "torch.serialization._get_layout",
    }
)

_MODULES: Final = """
__builtin__ _aix_support _bootsubprocess _codecs _ctypes _frozen_importlib _frozen_importlib_external
_functools _imp _interpreters _io _operator _osx_support _pickle _posixshmem _posixsubprocess _pyrepl
_socket _thread _winapi _xxinterpchannels _xxsubinterpreters aiohttp antigravity ast asyncio atexit bdb
builtins cffi cloudpickle cmd code codecs codeop commands concurrent copy_reg copyreg cPickle cProfile
ctypes dill distutils doctest ensurepip execnet fileinput ftplib functools gc glob http httplib httpx
huggingface_hub idlelib imaplib imp importlib inspect io jsonpickle lib2to3 linecache marshal mmap
modulefinder msvcrt multiprocess multiprocessing nntplib nt operator os paramiko pdb pexpect pickle
pickletools pip pkg_resources pkgutil platform plumbum popen2 poplib posix profile psutil pty py_compile
pydoc requests resource rlcompleter runpy sched select setuptools sh shelve shutil signal site smtpd
smtplib socket socketserver sqlite3 ssl subprocess sys sysconfig telnetlib tempfile threading timeit
tkinter trace traceback turtle types urllib urllib2 urllib3 venv webbrowser winreg winsound wsgiref xmlrpc
yaml zipapp zipfile zipimport numpy.ctypeslib numpy.distutils numpy.f2py numpy.lib.format numpy.lib.npyio
numpy.testing pandas.io scipy.io torch._C._jit torch._dynamo torch._inductor torch._ops torch.classes
torch.distributed.rpc torch.fx.graph_module torch.hub torch.jit torch.multiprocessing torch.ops
torch.package torch.serialization torch.utils._config_module torch.utils.bottleneck
torch.utils.collect_env torch.utils.cpp_extension torch.utils.model_zoo transformers.dynamic_module_utils
transformers.utils.hub
"""

#: Modules (with all below them) of which a pickle may name nothing but the above.
REFUSED_MODULES: Final = frozenset(_MODULES.split())

_NAMES: Final = """
joblib.load joblib.numpy_pickle.load logging.config.dictConfig logging.config.fileConfig
logging.FileHandler numpy._core.memmap.memmap numpy._core.multiarray.fromfile numpy.apply_along_axis
numpy.core.memmap.memmap numpy.core.multiarray.fromfile numpy.fromfile numpy.fromregex numpy.genfromtxt
numpy.lib.utils.safe_eval numpy.load numpy.loadtxt numpy.memmap numpy.save numpy.savetxt numpy.vectorize
pandas.core.computation.eval.eval pandas.eval pandas.read_csv pandas.read_pickle torch._C.import_ir_module
torch.compile torch.from_file torch.load torch.storage._load_from_bytes
torch.storage.UntypedStorage.from_file torch.utils._import_utils.import_dill
torch.utils.checkpoint.checkpoint
"""

#: Single names that read files or run code.
REFUSED_NAMES: Final = frozenset(_NAMES.split())

#: Parts of a dotted name that lead out of a harmless module into a refused one.
CORE: Final = frozenset(
    {"os", "sys", "posix", "nt", "subprocess", "builtins", "__builtin__", "importlib", "ctypes", "socket"}
)

#: Modules that Python 3 renamed.
RENAMED: Final = {
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "exceptions": "builtins",
    "cPickle": "pickle",
}


def check_global(module: str, name: str, file: str) -> None:
    """Raise UnsafePickle where a pickle must not name this.

    Args:
        module: as the pickle spells it.
        name: inside the module; may be dotted.
        file: how the message calls the pickle's file.
    """
    path = f"{RENAMED.get(module, module)}.{name}"
    if path in ALLOWED:
        return
    steps = path.split(".")
    parents = {".".join(steps[:count]) for count in range(1, len(steps))}
    if (
        parents & REFUSED_MODULES
        or path in REFUSED_NAMES
        or CORE.intersection(steps[1:-1])
        or any(step.startswith("__") and step.endswith("__") for step in name.split("."))
    ):
        raise UnsafePickle(
            f"the pickle in {file} asks for {shown(f'{module}.{name}')}, which could run something; "
            "nothing was run.",
            advice="Load it only if you trust its author, and save the tensors as safetensors.",
        )
