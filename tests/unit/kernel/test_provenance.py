# SPDX-License-Identifier: Apache-2.0
"""A reply carries the attribution its evidence allows, or none."""

from __future__ import annotations

import pytest

from actum.kernel.provenance import attribution, refuse_message
from actum.model.delivery import ExecutionKind
from actum.model.grading import EffectStatus
from actum.model.message import Provenance
from actum.testing.records import cloud, message, native, receipt


def _reason(source: Provenance | None, **receipt_fields: object) -> str | None:
    refused = refuse_message(message(provenance=source), receipt=receipt(**receipt_fields))
    return None if refused is None else refused.reason


@pytest.mark.parametrize("provider", ["anthropic", "openai", "embedded", "", "Actum"])
def test_rule_1_o74_a_native_reply_names_no_cloud_provider(provider: str) -> None:
    assert _reason(native(provider=provider)) == "native_cloud_provider"
    assert _reason(native()) is None


def test_rule_2_o75_a_native_reply_without_a_receipt_is_refused() -> None:
    refused = refuse_message(message(provenance=native()), receipt=None)
    assert refused is not None
    assert refused.reason == "native_without_receipt"
    assert _reason(native(), turn_id="T2") == "native_without_receipt"


@pytest.mark.parametrize(
    "status", [status for status in [*EffectStatus, None] if status != EffectStatus.SUCCESS]
)
def test_rule_2_o75_only_an_observed_effect_is_a_successful_execution(status: EffectStatus | None) -> None:
    assert _reason(native(), status=status) == "native_receipt_not_earned"


def test_rule_2_o75_a_recorded_decision_is_no_execution() -> None:
    assert _reason(native(), kind=ExecutionKind.RECORD) == "native_receipt_not_earned"
    assert _reason(native(), kind=ExecutionKind.SETTLEMENT) is None


def test_a_models_reply_and_an_unattributed_one_need_no_receipt() -> None:
    for source in (None, cloud()):
        assert refuse_message(message(provenance=source), receipt=None) is None


def test_rule_3_o78_without_evidence_no_attribution_is_made_up() -> None:
    assert attribution(None) is None
    assert attribution(native()) == "native by actum (actum)"
    assert attribution(cloud()) == "cloud_model by anthropic (https, model m-1)"
