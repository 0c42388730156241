# The same as `python3 tasks.py ...`, for those who have make.
PYTHON ?= python3
.PHONY: demo test check
demo test check:
	$(PYTHON) tasks.py $@
