# SPDX-License-Identifier: Apache-2.0
"""The setting of a story: a fresh store, a named person with a key, an agent, and what the scenes leave behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from actum.adapters.intake.maildir import IntakeFailure, read_maildir
from actum.bootstrap import Kernel
from actum.bootstrap.place import Place
from actum.bootstrap.turn import Turn
from actum.demo import tools
from actum.demo.world import DOMAIN, World
from actum.model.errors import ActumError, RefusedError
from actum.model.work import Submission
from actum.service.answer import Person

PERSON, AGENT = "ann", "agent:assistant"
PASSPHRASE = b"demo"

FULL_CONFIG = """[mail]
from = "Ann <ann@{domain}>"
domain = "{domain}"
smtp_host = "127.0.0.1"
smtp_port = {port}
reader = "maildir"
maildir = "{mailboxes}/{{recipient}}"
consistency_window_ms = 300
timeout_ms = 10000

[models.fast]
adapter = "embedded"
"""


class Story(msgspec.Struct, kw_only=True):
    """What the scenes leave behind for those who judge them: ids of records, and what was tried from outside.

    ``turns`` holds the turn of each expectation, ``also`` further turns of it; ``refused`` codes of what was
    tried and refused without leaving a record; ``killed`` the signal and the milliseconds until it;
    ``stopped`` why a scene could not be played to its end.
    """

    turns: dict[str, str] = {}
    also: dict[str, str] = {}
    refused: dict[str, str] = {}
    stopped: dict[str, str] = {}
    killed: tuple[int, int] = (0, 0)


class Setting:
    """An open store in a world, with the people in it."""

    def __init__(self, world: World, *, told: Callable[[str], None]) -> None:
        self.world = world
        self.story = Story()
        self.told = told
        self.kernel: Kernel
        self._person: Person | None = None

    def open(self, *, process_file: str, smtp_port: int | None, own_key: bool) -> None:
        """Make the store with its process file and open it."""
        world = self.world
        place = Place(world.store)
        place.create()
        text = (Path(__file__).parent / process_file).read_text(encoding="utf-8")
        (place.processes / "demo_inbox.yaml").write_text(text.replace("@DESK@", str(world.desk)))
        if smtp_port is not None:
            config = FULL_CONFIG.format(domain=DOMAIN, port=smtp_port, mailboxes=world.mailboxes)
            place.config_file.write_text(config)
        if own_key:
            place.enrol(PERSON, passphrase=PASSPHRASE)
        self.reopen()
        self._person = self.kernel.person(PERSON, passphrase=PASSPHRASE)

    def reopen(self) -> None:
        """Open the store, as after a stop."""
        self.kernel = Kernel.open(self.world.store, principal=PERSON)
        tools.register(self.kernel)

    def scene(self, name: str, play: Callable[[], None]) -> None:
        """Play one scene. One that is stopped by a refusal or a fault breaks its expectation, not the others."""
        try:
            play()
        except ActumError as error:
            self.story.stopped[name] = f"{error.code}: {error.failed}"

    def take_in(self, *names: str) -> dict[str, Turn]:
        """Submit the inbox's letters with these names; return their turns."""
        letters = list(read_maildir(str(self.world.inbox)))
        found: dict[str, Submission] = {}
        for letter in letters:
            if not isinstance(letter, IntakeFailure):
                sender: Any = letter.subject["from"]
                found[str(sender["address"]).partition("@")[0]] = letter
        accepted = self.kernel.submit_many([found[name] for name in names], principal=AGENT)
        return {name: self.kernel.turn(one.turn_id) for name, one in zip(names, accepted, strict=True)}

    def propose(self, capability: str, arguments: Mapping[str, object]) -> Turn:
        """Let the agent propose an action."""
        return self.kernel.propose(capability, arguments, principal=AGENT)

    def allow(self, turn: Turn) -> list[str]:
        """Let the person confirm what a turn asks; return the outbox ids. It must ask something."""
        asked = turn.question_ids()
        if not asked:
            raise RefusedError(
                "demo_nothing_asked",
                failed=f"turn {turn.turn_id} is {turn.state} and asks nobody for a confirm",
                state="Nothing was allowed",
                next_step=f"See it with `actum show {turn.turn_id}`",
            )
        return self.kernel.confirm(asked, by=self._person)

    def decide(self, turn: Turn, choice: str, **writes: object) -> None:
        """Let the person answer the turn's judgments; the last one with this choice, earlier ones with the first."""
        for question in turn.questions("judgment"):
            if question.step_id == "decide":
                self.kernel.judge(question.question_id, choice, by=self._person, writes=writes)
                return
            # The model gave no usable answer, so its step came to the person.
            self.kernel.judge(question.question_id, "request", by=self._person)
            self.decide(turn, choice, **writes)

    def claim(self, turn: Turn, text: str, *, of: str) -> None:
        """Let the agent claim something; ``of`` names the capability it says it used."""
        self.kernel.say(turn.turn_id, text, asserts=[of])

    def run(self) -> None:
        """Carry out what was allowed."""
        self.kernel.run()

    def close(self) -> None:
        """Give the store back."""
        self.kernel.close()
