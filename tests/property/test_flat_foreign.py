# SPDX-License-Identifier: Apache-2.0
"""The short way to the canonical bytes of a flat object gives the bytes of the long way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.model import foreign
from actum.model.strict_json import ForeignNumber, JsonRefused

keys = st.sampled_from(["a", "b", "$num", "$obj", "é", "𝒳", "￿", "", "Z", "a b", '"', "\\", "\n"])
scalars = st.one_of(
    st.none(), st.booleans(), st.text(max_size=4), st.sampled_from([ForeignNumber("1"), ForeignNumber("1.0")])
)


@given(st.dictionaries(keys, st.one_of(scalars, st.lists(scalars, max_size=1)), max_size=4))
def test_both_ways_give_the_same_bytes(value: dict[str, object]) -> None:
    long_way = foreign._keeps_order.encode(foreign._canonical_form(foreign.from_plain(value)))
    assert foreign.encode_foreign(value) == long_way
    assert foreign.decode_foreign(long_way) == value


def test_half_a_surrogate_pair_is_refused_on_the_short_way_too() -> None:
    with pytest.raises(JsonRefused) as caught:
        foreign.encode_foreign({"a": "\ud800", "b": "x"})
    assert caught.value.code == "lone_surrogate"
