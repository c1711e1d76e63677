"""`script/demo`: the main job, start to end, against receivers of its own, with every count checked."""
