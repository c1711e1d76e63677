"""The German words of quick add: as in en.py."""

PREAMBLES = "bitte_erinnere_mich_daran bitte_erinnere_mich_an erinnere_mich_daran erinnere_mich_an erinnere_mich"
COMPOUNDS = "{unit}und{ten}"

_ONES = ("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
         "achtzehn neunzehn zwanzig").split()  # fmt: skip
_STEMS = {
    1: "erst",
    2: "zweit",
    3: "dritt",
    4: "viert",
    5: "fünft",
    6: "sechst",
    7: "siebt",
    8: "acht",
    9: "neunt",
    10: "zehnt",
    11: "elft",
    12: "zwölft",
    13: "dreizehnt",
    14: "vierzehnt",
    15: "fünfzehnt",
    16: "sechzehnt",
    17: "siebzehnt",
    18: "achtzehnt",
    19: "neunzehnt",
    20: "zwanzigst",
    30: "dreißigst",
    31: "einunddreißigst",
}
_STEMS |= {20 + unit: f"{name}undzwanzigst" for unit, name in enumerate(["ein", *_ONES[2:10]], 1)}
_DAYS = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")  # fmt: skip
_PARTS = {"morning": "früh morgen vormittag", "afternoon": "nachmittag", "evening": "abend", "night": "nacht"}


def _ends(*stems: str) -> str:
    return " ".join(stem + end for stem in stems for end in ("e", "en", "er", "es", "em"))


WORDS = {
    "num": dict(enumerate(_ONES)) | {30: "dreißig dreissig", 40: "vierzig", 50: "fünfzig", 60: "sechzig", 90: "neunzig",
                                     1: "eins ein"},
    "ord": {number: _ends(stem) for number, stem in _STEMS.items() if number != 8} | {8: "achte achten achter achtes"},
    "last": _ends("letzt"),
    "unit": {"seconds": "sekunde sekunden sek", "minutes": "minute minuten min", "hours": "stunde stunden std",
             "days": "tag tage tagen tages", "weeks": "woche wochen", "months": "monat monate monaten monats",
             "years": "jahr jahre jahren jahres", "quarters": "quartal quartale quartals"},
    "step": {(15, "minutes"): "viertelstunde einer_viertelstunde eine_viertelstunde",
             (45, "minutes"): "dreiviertelstunde einer_dreiviertelstunde",
             (90, "minutes"): "anderthalb_stunden eineinhalb_stunden"},
    "weekday": dict(enumerate(_DAYS)) | {5: "samstag sonnabend"},
    "weakday": {0: "mo", 1: "di", 2: "mi", 3: "do", 4: "fr", 5: "sa", 6: "so"},
    "month": {1: "januar jänner jän", 2: "februar feb", 4: "april apr", 6: "juni", 7: "juli", 8: "august aug",
              9: "september sept sep", 10: "oktober okt", 11: "november nov", 12: "dezember dez"},
    "weakmonth": {3: "märz", 5: "mai"},
    "plural": {number: f"{name}s" for number, name in enumerate(_DAYS)} | {5: "samstags sonnabends"},
    "workday": "werktag arbeitstag wochentag", "workdays": "werktags wochentags werktage werktagen arbeitstage arbeitstagen",
    "weekend": "wochenende", "weekends": "wochenenden",
    "rel": {0: "heute", 1: "morgen", 2: "übermorgen"},
    "tonight": "heute_abend heute_nacht", "now": "ab_jetzt später",
    "part": _PARTS | {"morning": "früh vormittag morgen morgens"},
    "inpart": {"morning": "am_morgen am_vormittag morgens vormittags frühmorgens in_der_früh in_der_frühe",
               "afternoon": "am_nachmittag nachmittags", "evening": "am_abend abends",
               "night": "in_der_nacht nachts"},
    "named": {12: "mittag mittags am_mittag zu_mittag", 0: "mitternacht"},
    "daypart": {(day, part): " ".join(f"{name}{word} {name}_{word}" for name in names.split() for word in words.split())
                for day, names in enumerate([*_DAYS[:5], "samstag sonnabend", _DAYS[6]]) for part, words in _PARTS.items()},
    "adverb": {(1, "hours"): "stündlich", (1, "days"): "täglich", (1, "weeks"): "wöchentlich",
               (1, "months"): "monatlich", (3, "months"): "vierteljährlich", (1, "years"): "jährlich"},
    "every": _ends("jed") , "everyn": "alle", "once": "einmal", "times": "mal mals", "twice": "zweimal dreimal",
    "at": "um @", "on": "am an zum im_laufe_des", "this": _ends("dies"), "next": _ends("nächst"), "coming": _ends("kommend"),
    "the": "der die das den dem", "of": "des", "in": "in im", "a": _ends("ein") + " pro", "and": "und , &",
    "to": "bis", "until": "bis bis_zum bis_zur bis_einschließlich bis_zu", "from": "von vom ab ab_dem",
    "starting": "beginnend", "for": "für", "between": "zwischen", "except": "außer ausser",
    "half": _ends("halb") + " halb", "halfto": "halb", "quarter": "viertel", "threequarters": "dreiviertel",
    "past": "nach", "before": "vor", "oclock": "uhr", "sharp": "punkt", "endof": "ende", "meal": "mittagessen abendessen frühstück", "long": "lang",
    "feast": {"01-01": "neujahr neujahrstag", "01-06": "dreikönigstag heilige_drei_könige heiligen_drei_könige",
              "02-14": "valentinstag", "05-01": "tag_der_arbeit maifeiertag", "08-15": "mariä_himmelfahrt", "10-03": "tag_der_deutschen_einheit",
              "10-31": "halloween reformationstag", "11-01": "allerheiligen", "11-11": "martinstag", "12-06": "nikolaus nikolaustag",
              "12-24": "heiligabend heilig_abend heiliger_abend heiligen_abend", "12-25": "weihnachten weihnachtstag 1._weihnachtstag "
              "erster_weihnachtstag ersten_weihnachtstag 1._weihnachtsfeiertag",
              "12-26": "zweiter_weihnachtstag zweiten_weihnachtstag 2._weihnachtstag 2._weihnachtsfeiertag",
              "12-31": "silvester sylvester silvesterabend", "easter+0": "ostern ostersonntag", "easter+1": "ostermontag",
              "easter-2": "karfreitag", "easter-3": "gründonnerstag", "easter-46": "aschermittwoch",
              "easter-48": "rosenmontag", "easter-7": "palmsonntag", "easter+39": "christi_himmelfahrt himmelfahrt vatertag",
              "easter+49": "pfingsten pfingstsonntag", "easter+50": "pfingstmontag", "easter+60": "fronleichnam",
              "05-2-6": "muttertag"},
    "agobefore": "vor", "over": "gestern vorgestern gestrigen vorig vorige vorigen voriger voriges "
                                "vergangene vergangenen vergangener vergangenes",
    "vague": "guten_morgen guten_abend gute_nacht guten_tag orthodoxer orthodoxe chinesisches islamisches parsi 1_._advent 2_._advent 3_._advent 4_._advent erster_advent ersten_advent zweiten_advent dritten_advent vierten_advent spätabend spätabends spätnachmittag spätnachmittags spätmorgens tausend hundert bald später irgendwann manchmal oft regelmäßig jetzt ungefähr etwa circa ca spät anfang mitte "
             "paar einige einigen mehrere mehreren sommer winter frühling herbst frühjahr spätestens früher "
             "übernächste übernächsten übernächster jahrhundert jahrzehnt gegen kurz laufe rest sonnenaufgang wochenlang",
    "near": "vor nach gegen seit von bis zwischen um ab während innerhalb binnen nicht",
    "label": "zimmer raum seite kapitel gleis linie bus tram flug gebäude stock etage nummer nr tisch platz reihe "
             "rechnung saal folge staffel",
}  # fmt: skip
ORDINARY = (
    "monate monaten monat mond abends abend abende morgens sorgen borgen wachen machen kochen tag tags sonntags stunden "
    "wunden runden kunden hunden minute minuten macht nachts nächte recht wacht nackt nach sommer sonder august juni "
    "jahre jahren haare fahre jahr zahl zahlen zehnten stunde runde kunde hunde wunde tage lage sage page woche wache "
    "suche koche loch waage heuten beute leute haute häute wochen knochen rochen pochen kochens abenden morgen"
)
