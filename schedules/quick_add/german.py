"""The German words of quick add, with the English ones."""

from __future__ import annotations

from schedules.rules.words import DAYS

PREAMBLES = (
    "bitte erinnere mich daran", "bitte erinnere mich an", "erinnere mich daran", "erinnere mich an", "erinnere mich",
)  # fmt: skip

_DAYS = dict(zip(("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"), DAYS, strict=True))
_PARTS = {
    "früh": "morning", "morgen": "morning", "vormittag": "morning", "mittag": "noon", "nachmittag": "afternoon",
    "abend": "evening", "nacht": "night",
}  # fmt: skip
_NUMBERS = {
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11,
    "zwölf": 12, "vierzehn": 14, "fünfzehn": 15, "zwanzig": 20, "dreißig": 30, "vierzig": 40,
}  # fmt: skip
_ORDINALS = {
    "erst": "first", "zweit": "second", "dritt": "third", "viert": "fourth", "fünft": "fifth", "letzt": "last",
    "nächst": "next", "kommend": "coming",
}  # fmt: skip

PHRASES = (
    {day: name.lower() for day, name in _DAYS.items()}
    | {f"{day}s": f"{name.lower()}s" for day, name in _DAYS.items()}
    | {f"{day}{part}": f"{name.lower()} {said}" for day, name in _DAYS.items() for part, said in _PARTS.items()}
    | {word: f"{number}" for word, number in _NUMBERS.items()}
    | {f"alle {word}": f"every {number}" for word, number in _NUMBERS.items()}
    | {f"halb {word}": f"half to {number}" for word, number in _NUMBERS.items() if number <= 12}
    | {stem + end: said for stem, said in _ORDINALS.items() for end in ("e", "en", "er", "es")}
    | {part: said for part, said in _PARTS.items() if part != "morgen"}
    | {f"am {part}": "at noon" if said == "noon" else f"in the {said}" for part, said in _PARTS.items()}
    | {f"{part}s": "noon" if said == "noon" else f"in the {said}" for part, said in _PARTS.items()}
    | {f"heute {part}": "today noon" if said == "noon" else f"this {said}" for part, said in _PARTS.items()}
    | {f"jeden {part}": f"every {said}" for part, said in _PARTS.items()}
    | {
        # days and months
        "heute": "today", "heute abend": "tonight", "heute nacht": "tonight", "morgen": "tomorrow",
        "übermorgen": "day after tomorrow", "sonnabend": "saturday", "sonnabends": "saturdays",
        "mo": "mon", "di": "tue", "mi": "wed", "do": "thu", "fr": "fri", "sa": "sat",
        "werktag": "workday", "arbeitstag": "workday", "wochentag": "weekday", "werktags": "weekdays",
        "wochentags": "weekdays", "wochenende": "weekend", "wochenenden": "weekends", "montag bis freitag": "weekdays",
        "von montag bis freitag": "weekdays", "mo bis fr": "weekdays", "mitternacht": "midnight",
        "januar": "january", "jänner": "january", "februar": "february", "märz": "march", "mai": "may", "juni": "june",
        "juli": "july", "oktober": "october", "okt": "oct", "dezember": "december", "dez": "dec", "# .": "#th",
        # repetitions
        "jeden": "every", "jede": "every", "jedes": "every", "jeder": "every", "jedem": "every", "alle #": "every #",
        "alle halbe": "every half", "jedes monats": "of every month", "jeden monats": "of every month",
        "einmal im": "once a", "einmal am": "once a", "einmal pro": "once a", "einmal in der": "once a",
        "täglich": "daily", "wöchentlich": "weekly", "monatlich": "monthly", "jährlich": "yearly",
        "stündlich": "hourly", "vierteljährlich": "quarterly", "mal": "times", "# - mal": "# times",
        "# tage lang": "for # days", "# wochen lang": "for # weeks", "# monate lang": "for # months",
        "# jahre lang": "for # years",
        # units
        "sekunde": "second", "sekunden": "seconds", "minute": "minute", "minuten": "minutes", "stunde": "hour",
        "stunden": "hours", "std": "hours", "tag": "day", "tage": "days", "tagen": "days", "woche": "week",
        "wochen": "weeks", "monat": "month", "monate": "months", "monaten": "months", "monats": "month",
        "quartal": "quarter", "quartale": "quarters", "jahr": "year", "jahre": "years", "jahren": "years",
        "jahres": "year", "ein": "a", "eine": "a", "einem": "a", "einer": "a", "einen": "a", "eines": "a",
        "einer halben": "half", "halbe": "half", "halben": "half",
        # times of day
        "um": "at", "um # .": "at # .", "uhr": "o'clock", "# uhr #": "#:#", "halb #": "half to #",
        "viertel nach": "quarter past", "viertel vor": "quarter to", "kurz vor": "before", "gegen": "around",
        # words between
        "am": "on", "den": "the", "dem": "the", "der": "the", ", den": ",", "des": "of the", "im": "in",
        "und": "and", "bis": "until", "bis zum": "until", "bis zur": "until", "bis einschließlich": "until",
        "ende": "end", "ab": "from", "ab dem": "from", "ab dem # .": "from #th", "von": "from", "vom": "from",
        "zwischen": "between", "außer": "except", "für": "for", "diesen": "this", "diese": "this", "dieses": "this",
        "vor": "before", "nach": "after", "seit": "since",
    }
)  # fmt: skip
