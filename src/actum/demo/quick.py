# SPDX-License-Identifier: Apache-2.0
"""The quick story: the same nine promises with files only, no model and no server."""

from __future__ import annotations

from collections.abc import Callable

from actum.bootstrap.turn import Turn
from actum.demo import scenes
from actum.demo.child import Victim
from actum.demo.setting import Setting
from actum.demo.world import World


def play(world: World, told: Callable[[str], None]) -> Setting:
    """Play the story; return the setting with its store still open."""
    setting = Setting(world, told=told)
    with Victim() as victim:
        world.build()
        setting.open(process_file="quick.yaml", smtp_port=None, own_key=False)
        told("a process is killed in the act")
        setting.scene("e", lambda: scenes.kill_in_the_act(setting, victim))
    told("the inbox is worked through")
    turns = setting.take_in("bo", "cy", "news")
    setting.scene("a", lambda: _answer_bo(setting, turns["bo"]))
    setting.scene("b", lambda: scenes.lie_about_a_room(setting, turns["cy"]))
    told("tools lie, replies are lost, files are swapped")
    setting.scene("c", lambda: scenes.lose_a_write(setting))
    setting.scene("d", lambda: scenes.lose_a_reply(setting))
    setting.scene("f", lambda: scenes.change_the_amount(setting))
    setting.scene("h", lambda: scenes.swap_the_file(setting))
    setting.scene("g", lambda: scenes.wait_for_news(setting, turns["news"]))
    return setting


def _answer_bo(setting: Setting, turn: Turn) -> None:
    answer = {"answer_file": str(setting.world.tray / "bo.txt"), "answer_text": "Thursday at 14:00 works.\n"}
    setting.decide(turn, "answer", **answer)
    setting.allow(turn)
    setting.run()
    setting.claim(turn, "I wrote the answer to Bo: Thursday at 14:00 works.", of="files.write")
    setting.story.turns["a"] = turn.turn_id
