"""RAPID: train an attacker on the release, ask it about real people.

This folder is called like its measure and can be called like it: ``gh.disclosure.rapid(pair)``.
"""

from glasshouse.core.rooms import like_its_measure

like_its_measure(__name__)
