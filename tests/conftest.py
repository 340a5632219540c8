"""conftest.py - each test draws the same random numbers, whatever ran before it in its process."""
import sys

import pytest


@pytest.fixture(autouse=True)
def seeded():
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
