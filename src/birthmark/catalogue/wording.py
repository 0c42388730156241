"""The fixed sentences of docs/consistency.md: what the page is, how to read it, how to add to it."""

from __future__ import annotations

from typing import Final

INTRODUCTION: Final = """\
# Consistency

What others published about where the numbers of a model were drawn, and what birthmark reads in the same
files: every entry of the catalogue, side by side. This page is generated; after a change of the data,

```
birthmark catalogue --no-own --write docs/consistency.md
```

makes it again. The data are `src/birthmark/catalogue/entries.json`.

The public report of November 2026 on the hardware behind open weights is here as far as its code's README
shows: five models, each with the next seed and the next best SM count as controls. What the report has beyond
that table (a sixth model, further controls, sigmas) is not included, because it could not be read; nothing
was filled in. Weights of those five models were not read here either, so for them this page only holds the
publication against the table of devices and against itself.

How to read it: a *reading* is what somebody found in the weights, a *declaration* is a seed that a
configuration names, a *device output* is what somebody's device printed. A declared seed that differs from
the one that was read is no error of either: the generator was seeded by something else, or again. *Nothing
found* means that the scan searched and found nothing, which refutes nobody."""

NO_INFERENCE: Final = """\
One seed in two releases can be one birth: one may descend from the other, or a seed may have been used twice.
`birthmark lineage` tells these apart where both files are at hand. Seeds that many people use say little."""

ADDING: Final = """\
## Adding an entry

A reading of your own goes into your own file (`~/.local/share/birthmark/catalogue.json`, or `--file`):

```
birthmark scan model.safetensors --quick -o reading.json
birthmark catalogue --add reading.json --model NAME --maker MAKER --released 2026-11-30 \\
    --source https://example.org/where-the-file-is
birthmark catalogue --maker MAKER
```

A published statement is a JSON object in that file, or in `entries.json` for everybody. What is not known is
left out; what is misspelt, contradicts itself, or names a device that is in no table is refused in one line.

| key | holds |
|---|---|
| `model`, `maker` | names, the same in all entries about them; a draw has `"maker": null` |
| `released`, `released_source` | the model's date (`2026`, `2026-11` or `2026-11-30`) and where it stands |
| `subject` | `checkpoint` or `draw` |
| `read_by`, `kind` | `published`: a `reading`, `declaration` or `device-output`; `birthmark`: a `reading` |
| `tensor`, `generator`, `arithmetic`, `seed`, `offset`, `index` | as in a reading |
| `sm_count`, `threads` | the layout |
| `devices`, `hardware` | devices by their names in `birthmark devices`; else in the source's words |
| `sigma`, `log10_p`, `r`, `matched`, `controls` | the strength, as it was published |
| `draw` | the call and the printed values |
| `source`, `published` | a public reference, and its date |
| `digest`, `revision`, `command`, `version`, `verdict` | of a reading of birthmark: what was read, by what |
| `note` | what a reader has to know |

`birthmark catalogue --digest DIGITS` says whether a file is in the catalogue; `--json` prints all of it."""

DRAWS: Final = """\
Values that somebody's device drew and somebody printed. birthmark needs no such device: it predicts them
from seed and layout, and the tests compare them again."""

PUBLISHED: Final = """\
The meaning of a seed is a hint for readers: what public code uses this number. *Devices agree* says that the
named devices launch as many threads as the stated SM count gives."""

READ: Final = """\
The first finding of each scan; the others of the same seed stand in the reading. *Index* counts the numbers
drawn before, *offset* is the position of a GPU generator."""
