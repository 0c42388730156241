"""Which sampler makes a call: one line for each distribution."""

from __future__ import annotations

from birthmark.samplers.cpu_call import CpuCall, CpuSampler
from birthmark.samplers.cpu_double import Doubles
from birthmark.samplers.cpu_integers import Integers
from birthmark.samplers.cpu_mkl import ByMkl
from birthmark.samplers.cpu_permutation import Permutation
from birthmark.samplers.cpu_scalar import ScalarNormal
from birthmark.samplers.cpu_truncated import normal_sampler, truncated_sampler
from birthmark.samplers.cpu_uniform import Uniform


def sampler_of(call: CpuCall, kept_at: int | None = None) -> CpuSampler:
    """The sampler of a call.

    Args:
        call: the call.
        kept_at: where the generator keeps a normal from before, see `ScalarNormal`; None if nowhere.

    Raises:
        UsageError: parameters that torch refuses.
    """
    match call.distribution:
        case "normal":
            return normal_sampler(call, kept_at)
        case "log-normal":
            return ScalarNormal(call, kept_at)
        case "uniform":
            return Uniform(call)
        case "truncated-normal":
            return truncated_sampler(call, kept_at)
        case "integers":
            return Integers(call)
        case "permutation":
            return Permutation(call)
        case _:
            checked = Doubles(call)
            return ByMkl(call) if call.by_mkl else checked
