"""What the tests of a file share is loaded before the first of them, whose time it is not."""

import pytest
import smollm2_support


@pytest.fixture(autouse=True)
def shared_model(request):
    if getattr(request.module, "model", None) is smollm2_support.model:
        smollm2_support.model()
