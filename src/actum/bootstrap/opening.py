# SPDX-License-Identifier: Apache-2.0
"""Opening a place fills every port: store, keys, rules, capabilities, looker, models.

Rules
1. A store that lies elsewhere than it did (copied, restored, another host) does not dispatch until it is adopted.
2. The log is compared with the last checkpoint beside the store: a cut tail is found at open, and nothing is
   dispatched from such a store until it was adopted.
3. A wall clock behind the newest record is waited out or refused, never written into the record.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

from actum.adapters.looking.child import PATIENCE_S, ChildLooker
from actum.adapters.looking.frames import Setup
from actum.adapters.looking.in_process import InProcessLooker
from actum.adapters.looking.split import SplitLooker
from actum.adapters.machine import host
from actum.adapters.machine.clock import SystemClock, SystemIds
from actum.adapters.machine.content_files import FolderContent
from actum.adapters.store.opening import open_store
from actum.bootstrap.place import KERNEL, VERIFIER, CurrentTrust, Place, seed_of
from actum.bootstrap.rules import StoredRules
from actum.capabilities.registry import Registry
from actum.capabilities.subject import SubjectRecord
from actum.evidence.log import parse_entry
from actum.model.activity import ActivityFilter
from actum.model.errors import Refused
from actum.model.message import ExecutionMode
from actum.ports.capability import Capability
from actum.ports.store import RunnerRow, Store, Tx
from actum.ports.verifier import Looker, LookRequest, Verifier
from actum.service import export
from actum.service.holder import RunnerName
from actum.service.line import Line
from actum.service.runner import RUNNER_LEASE_MS

CHILD = "actum.bootstrap.verifier_process"
FILES = "actum.capabilities.files:verifiers"
MAIL = "actum.capabilities.mail:verifiers"
LOOK_MARGIN_S = 10.0
SUBJECT = "actum.capabilities.subject:verifiers"


class Opened:
    """An open place: its line, and what only bootstrap needs to know of it."""

    def __init__(self, place: Place, *, principal: str | None = None, tenant: str = "local") -> None:
        self.place = place
        self.config = place.config()
        place.require_whole()
        self.clock = SystemClock()
        self.ids = SystemIds()
        url = str(self.config.get("store", {}).get("url", place.database))
        self.store: Store = open_store(url, tenant=tenant)
        # Rule 3
        self.clock.not_before(self.store.read(newest_ms))
        self.principal = principal or host.user_name()
        self.moved = False
        self.incarnation = self._incarnation()
        place.finish()
        self.registry = Registry()
        self.modules: dict[str, dict[str, object]] = {SUBJECT: {"needs_store": True}}
        self._register_own()
        self.rules = StoredRules(
            self.store, self.registry, files=place.process_files, by=self.principal, now_ms=self.clock.now_ms
        )
        self.line = self._line()
        # Rule 2
        self.cut_short = export.cut_short(self.line, place.checkpoint)
        self.name = RunnerName(
            host=host.host_name(), boot_id=host.life(), pid=os.getpid(), chance=self.ids.salt()[:8]
        )

    def _incarnation(self) -> str:
        where = host.place_of(self.place.database) if self.place.database.exists() else "elsewhere"

        def work(tx: Tx) -> str:
            found = tx.meta("incarnation")
            if found is None:
                found = self.ids.ulid(self.clock.now_ms())
                tx.set_meta("incarnation", found)
                tx.set_meta("place", where)
                first = self.place.first_person() or self.principal
                for role in ("submitter", "approver", "operator"):
                    tx.add_role(first, role, by="init", now_ms=self.clock.now_ms())
            return found

        known = self.store.read(lambda tx: (tx.meta("incarnation"), tx.meta("place")))
        if known[0] is None:
            return self.store.write(work)
        # Rule 1
        self.moved = known[1] != where
        return known[0]

    def _register_own(self) -> None:
        for capability in self._own():
            self.registry.register(capability)

    def _own(self) -> list[Capability]:
        own: list[Capability] = [SubjectRecord(self.store, clock=self.clock, ids=self.ids)]
        own += self._files()
        section = self.config.get("mail")
        if section is not None:
            from actum.capabilities.mail import mail_capabilities, read_mail_config, reader_section

            own += mail_capabilities(read_mail_config(section))
            self.modules[MAIL] = reader_section(section)
        return own

    def _files(self) -> list[Capability]:
        from actum.capabilities.files import files_capabilities, verifier_config

        given = cast("list[str] | None", self.config.get("files", {}).get("roots"))
        roots = [self.place.folder.resolve().parent] if given is None else [Path(root) for root in given]
        keep = self.place.keep.resolve()
        self.modules[FILES] = verifier_config(roots=roots, keep=keep)
        return files_capabilities(roots=roots, keep=keep, protected=[self.place.folder.resolve()])

    def _line(self) -> Line:
        models = self._models()
        return Line(
            store=self.store,
            clock=self.clock,
            ids=self.ids,
            registry=self.registry,
            rules=self.rules,
            looker=self._looker(),
            kernel_key=self.place.keys.load(KERNEL),
            pinned=CurrentTrust(self.place),
            incarnation=self.incarnation,
            principal=self.principal,
            content_files=FolderContent(self.place.content),
            models=models,
            model_kinds=_kinds(models),
            is_gone=self._is_gone,
        )

    def _models(self) -> Any:
        section = self.config.get("models")
        if not section:
            return None
        from actum.adapters.models.configured import read_models

        return read_models(section)

    def _looker(self) -> Looker:
        apart = ChildLooker(
            self._setup, modules=self._verifier_modules, module=CHILD, patience_s=self._patience_s
        )
        local = InProcessLooker(
            _Local(self.registry), signer=self.place.keys.load(VERIFIER), clock=self.clock
        )
        return SplitLooker(apart=apart, local=local, is_local=self._is_local)

    def _is_local(self, capability: str) -> bool:
        found = self.registry.find(capability)
        return not isinstance(found, Refused) and found.info.verifier_ref is None

    def _patience_s(self, request: LookRequest) -> float:
        """Return how long one look may take: as long as the action may, and then some."""
        found = self.registry.find(request.capability)
        own = 0 if isinstance(found, Refused) else found.info.timeout_ms
        return max(PATIENCE_S, own / 1000 + LOOK_MARGIN_S)

    def _verifier_modules(self) -> dict[str, dict[str, object]]:
        modules = dict(self.modules)
        for info in self.registry.infos():
            if info.verifier_ref is not None:
                modules.setdefault(info.verifier_ref, {"capability": info.id})
        return modules

    def _setup(self) -> Setup:
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        return Setup(
            seed=seed_of(self.place, VERIFIER),
            store_url=self.store.address,
            tenant=self.store.tenant,
            modules=self._verifier_modules(),
            main_path=None if main is None else os.path.abspath(main),
        )

    def _is_gone(self, runner: RunnerRow) -> bool:
        if runner.host != host.host_name():
            return False
        return host.has_ended(runner.boot_id, runner.pid)

    def close(self) -> None:
        """Give everything back. Closing twice is harmless."""
        self.line.looker.close()
        self.store.close()


def newest_ms(tx: Tx) -> int:
    """Return the time of the newest record, as far as the newest turn, receipt and lease show it."""
    times = [found.updated_at_ms for found in tx.activities(ActivityFilter.ALL, limit=1)]
    for leaf in tx.each_leaf(start=max(0, tx.log_state()[0] - 1)):
        entry = parse_entry(leaf.entry)
        times += [] if entry is None else [row.sealed_at_ms for row in tx.receipts(entry.c)[-1:]]
    runner = tx.runner()
    if runner is not None:
        times.append(runner.lease_until_ms - RUNNER_LEASE_MS)
    return max(times, default=0)


def _kinds(models: Any) -> dict[str, ExecutionMode]:
    return {} if models is None else {tier.value: one.kind for tier, one in models.tiers.items()}


class _Local(dict[str, Verifier]):
    """The verifiers of this process, by capability id, read from the registry when asked."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    def get(self, key: str, default: Any = None) -> Any:
        found = self._registry.find(key)
        return default if isinstance(found, Refused) else found.verifier
