"""The English words of quick add, by kind. `_` joins the words of a phrase.

A kind is a text (its words), or has a value for each text. English is understood beside every other language.
"""

from schedules.rules.words import DAYS, MONTHS

PREAMBLES = "please_remind_me_to remind_me_to remind_me_about remind_me_of remind_me_that remind_me"
# How numbers over twenty are made of two words.
COMPOUNDS = "{ten}_{unit} {ten}_-_{unit}"

_ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
         "seventeen eighteen nineteen twenty").split()  # fmt: skip
_ORDINALS = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
             "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth").split()  # fmt: skip

WORDS = {
    "num": dict(enumerate(_ONES)) | {2: "two a_couple_of a_couple", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty",
                                     70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred", 1000: "thousand", 1_000_000: "million", 12: "twelve a_dozen dozen"},
    "ord": dict(enumerate(_ORDINALS, 1)) | {30: "thirtieth"},
    "last": "last",
    "unit": {"seconds": "seconds sec secs", "minutes": "minute minutes min mins", "hours": "hour hours hr hrs",
             "days": "day days", "weeks": "week weeks wk wks", "months": "month months", "years": "year years yr yrs",
             "quarters": "quarter quarters qtr"},
    "second": {"seconds": "second"},
    # After a number that touches it.
    "short": {"seconds": "s", "minutes": "m", "hours": "h", "days": "d", "weeks": "w"},
    "step": {(2, "weeks"): "fortnight a_fortnight"},
    "decimal": {1.5: "one_and_a_half"},
    "weekday": {number: f"{name} {name[:3]}".lower() for number, name in enumerate(DAYS) if name[:3] not in
                ("Sun", "Sat", "Wed", "Mon")} | {0: "monday", 1: "tuesday tue tues", 2: "wednesday weds",
                                                 3: "thursday thu thur thurs", 5: "saturday", 6: "sunday"},
    # These are also something else: a day only where one is expected.
    "weakday": {0: "mon", 2: "wed", 5: "sat", 6: "sun"},
    "month": {number: f"{name} {name[:3]}".lower() for number, name in enumerate(MONTHS, 1) if name not in
              ("January", "March", "May")} | {1: "january", 9: "september sep sept"},
    "weakmonth": {1: "jan", 3: "march mar", 5: "may"},
    "plural": {number: f"{name}s".lower() for number, name in enumerate(DAYS)},
    "workday": "weekday workday working_day business_day work_day",
    "workdays": "weekdays workdays working_days business_days work_days",
    "weekend": "weekend week-end week_-_end", "weekends": "weekends",
    "rel": {0: "today", 1: "tomorrow tmrw tmr tomorrow's", 2: "day_after_tomorrow the_day_after_tomorrow"},
    "tonight": "tonight this_night", "now": "from_now later hence",
    "part": {"morning": "morning", "afternoon": "afternoon", "evening": "evening",
             "night": "night nighttime"},
    "inpart": {"night": "at_night"},
    "named": {12: "noon midday noontime", 0: "midnight", 17: "eod end_of_day the_end_of_the_day end_of_the_day"},
    "adverb": {(1, "hours"): "hourly", (1, "days"): "daily everyday", (1, "weeks"): "weekly",
               (2, "weeks"): "fortnightly biweekly bi_-_weekly", (1, "months"): "monthly", (3, "months"): "quarterly", (6, "months"): "semiannually semi_-_annually",
               (1, "years"): "yearly annually"},
    "am": "am a_._m_. a_._m", "pm": "pm p_._m_. p_._m",
    "every": "every each", "other": "other alternate", "once": "once", "times": "times time's", "twice": "twice thrice",
    "at": "at @", "on": "on by this", "this": "this", "next": "next", "the": "the", "of": "of", "in": "in",
    "a": "a an per", "stop": ".", "and": "and & ,", "to": "to through thru", "dash": "- – —", "until": "until till til ending",
    "from": "from", "starting": "starting beginning commencing", "for": "for", "between": "between",
    "except": "except but", "half": "half", "quarter": "quarter", "past": "past", "before": "to before of",
    "hmark": {"hours": "h"}, "oclock": "o'clock o’clock oclock hundred_hours", "sharp": "sharp", "coming": "coming", "after": "after",
    "afternext": "after_next", "zoneword": "time", "endof": "end_of the_end_of",
    "feast": {"01-01": "new_year's_day new_year’s_day new_years_day new_year's new_year new_years",
              "12-31": "new_year's_eve new_year’s_eve new_years_eve new_year_eve", "12-24": "christmas_eve xmas_eve",
              "12-25": "christmas christmas_day xmas xmas_day", "12-26": "boxing_day", "10-31": "halloween",
              "02-14": "valentine's_day valentine’s_day valentines_day", "03-17": "st_patrick's_day st_patricks_day saint_patrick's_day saint_patricks_day", "01-3-0": "mlk_day martin_luther_king_day",
              "07-04": "independence_day 4th_of_july", "11-4-3": "thanksgiving thanksgiving_day",
              "05--1-0": "memorial_day", "09-1-0": "labor_day", "easter+0": "easter easter_sunday",
              "easter+1": "easter_monday easter_mon", "easter-2": "good_friday", "easter-3": "maundy_thursday",
              "easter-46": "ash_wednesday", "easter-47": "shrove_tuesday pancake_day", "easter-7": "palm_sunday",
              "easter+39": "ascension_day", "easter+49": "pentecost whit_sunday", "easter+50": "whit_monday", "easter+56": "trinity_sunday",
              "04-22": "earth_day", "05-2-6": "mother's_day mother’s_day", "06-3-6": "father's_day father’s_day"},
    "ago": "ago",
    "over": "yesterday last_night previous",
    "vague": "to_date till_date closest nearest soon later sometime sometimes often regularly occasionally someday eventually now asap few "
             "several early late mid middle_of start_of beginning_of the_beginning_of approximately roughly circa approx "
             "so_often rarely upcoming following whenever anytime recently earlier "
             "halfway black_friday cyber_monday orthodox chinese islamic parsi jewish lunar muslim week's month's year's yesterday's mornings afternoons evenings nights weekdays' ish weekly_basis rest_of remainder_of today's lunchtime sunrise sunset dawn dusk daytime "
             "decade decades century centuries millennium",
    # Beside a day or time, these mean something that a reminder cannot say.
    "near": "or any > < ≥ ≤ before after around since about by_the from between to until till through past over during within than "
            "under not and_a near without",
    "meal": "lunch dinner breakfast supper brunch",
    "label": "room page chapter gate platform line bus tram flight building floor level number no nr version season "
             "episode exit terminal seat row table apartment flat suite track invoice bill ticket",
}  # fmt: skip
# One letter from such a word, and words of their own.
ORDINARY = (
    "taxes mouth mouths match marsh larch light right might fight sight tight eight nights knight weight height there threw "
    "toddy moor hour our your fours pours fear fears bear bears tear tears near gear gears pears hears years wears dears "
    "yearn wears seeks weeds weeps meeks reeks peeks creeks mourning monthly friday's sundae mined minuet "
    "march arch starch parch monkey june jude tune july jury apricot august's gust tiny marry april aprils sever "
    "seven never fever lever server fifth filth truth forth fort forty sixth tenth tent ninth hours yours tours ours "
    "evening evenings even events event leven spend minutes minute minus autumns wedding sunny sundry mundane second's"
)
