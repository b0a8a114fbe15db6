"""Texts that cost as much as English does."""

import random

WORDS = (  # noqa: SIM905 - a list of 350 lines would hide the test
    "about above across after again against almost along already always among another answer around asked away back "
    "became because before began behind being below between both bread bridge bring brother brought build business "
    "called came cannot carried caught certain change children city clear close cold come could country course covered "
    "dark daughter days decided deep different does door down dream during each early earth east eight either enough "
    "evening ever every eyes face family father feet few field fire first five follow food forest form found friend "
    "front garden gave girl give glass going gold good great green grew ground group grow half hand happened harbour "
    "hard have head hear heart heavy help here high himself hold home horse hour house hundred inside island itself "
    "just keep kept kind king knew know land large last late laugh learn leave left letter light like line listen "
    "little live long look lost love machine made make many matter mean might mile mind money moon more morning most "
    "mother mountain much music must myself name near never next night nothing number ocean often once only open order "
    "other outside over own page paper part people perhaps person picture place plain point poor power question quiet "
    "rain reach read ready reason remember rest river road room round said same save school second seemed seen several "
    "shall ship short should show side silence simple since sister slow small snow some song soon sound south spoke "
    "spring stand stars still stone stood stopped story street strong such summer sure table take talk tell their then "
    "there these thing think third those thought thousand three through time today together told took toward town tree "
    "true turned under until upon usual valley very village voice walk wall want warm watch water week well went were "
    "west what where which while white whole whose wide wind window winter without woman wonder wood word work world "
    "would write year yellow young"
).split()


def prose(number: int) -> str:
    """1,024 bytes of English words, other ones for each number: they compress about as well as English does."""
    rng = random.Random(number)
    words = [rng.choice(WORDS).capitalize() if place % 9 == 0 else rng.choice(WORDS) for place in range(260)]
    return " ".join(f"{word}." if place % 9 == 8 else word for place, word in enumerate(words))[:1024]
