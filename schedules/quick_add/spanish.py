"""The Spanish words of quick add, with the English ones."""

from __future__ import annotations

from schedules.rules.words import DAYS, MONTHS

PREAMBLES = ("por favor recuérdame", "recuérdame que", "recuérdame", "recordarme")

_DAYS = dict(zip(("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"), DAYS, strict=True))
_MONTHS = dict(
    zip(
        ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
         "diciembre"),
        MONTHS,
        strict=True,
    )
)  # fmt: skip
_PARTS = {"mañana": "morning", "tarde": "afternoon", "noche": "night"}
_NUMBERS = {
    "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "once": 11,
    "doce": 12, "quince": 15, "veinte": 20, "treinta": 30, "cuarenta": 40,
}  # fmt: skip

PHRASES = (
    {day: name.lower() for day, name in _DAYS.items()}
    | {f"{day}s": f"{name.lower()}s" for day, name in _DAYS.items() if not day.endswith("s")}
    | {f"los {day}": f"{name.lower()}s" for day, name in _DAYS.items()}
    | {f"todos los {day}{'' if day.endswith('s') else 's'}": f"every {name.lower()}" for day, name in _DAYS.items()}
    | {month: name.lower() for month, name in _MONTHS.items()}
    | {word: f"{number}" for word, number in _NUMBERS.items()}
    | {f"por la {part}": f"in the {said}" for part, said in _PARTS.items()}
    | {f"de la {part}": f"in the {said}" for part, said in _PARTS.items()}
    | {f"esta {part}": f"this {said}" for part, said in _PARTS.items()}
    | {f"cada {part}": f"every {said}" for part, said in _PARTS.items()}
    | {f"todas las {part}s": f"every {said}" for part, said in _PARTS.items()}
    | {
        # days
        "hoy": "today", "esta noche": "tonight", "mañana": "tomorrow", "pasado mañana": "day after tomorrow",
        "lun": "mon", "mié": "wed", "jue": "thu", "vie": "fri", "sáb": "sat", "dom": "sun", "setiembre": "september",
        "día laborable": "workday", "días laborables": "weekdays", "los días laborables": "weekdays",
        "entre semana": "weekdays", "lunes a viernes": "weekdays", "de lunes a viernes": "weekdays",
        "fin de semana": "weekend", "los fines de semana": "weekends", "fines de semana": "weekends",
        "fin": "end", "finales": "end", "mediodía": "noon", "al mediodía": "at noon",
        "a mediodía": "at noon", "medianoche": "midnight", "a medianoche": "at midnight",
        "semana que viene": "next week", "mes que viene": "next month",
        "día #": "on the #th", "el día #": "on the #th", "el # de cada mes": "on the #th of every month",
        "cada mes el #": "every month on the #th", "cada mes el día #": "every month on the #th",
        # repetitions
        "cada": "every", "todos los": "every", "todas las": "every", "una vez al": "once a", "una vez a la": "once a",
        "diario": "daily", "diariamente": "daily", "semanal": "weekly", "semanalmente": "weekly", "mensual": "monthly",
        "mensualmente": "monthly", "anual": "yearly", "anualmente": "yearly", "trimestral": "quarterly",
        "veces": "times", "durante": "for",
        # units and numbers
        "once a": "once a",
        "segundos": "seconds", "minuto": "minute", "minutos": "minutes", "hora": "hour", "horas": "hours",
        "día": "day", "días": "days", "semana": "week", "semanas": "weeks", "mes": "month", "meses": "months",
        "trimestre": "quarter", "trimestres": "quarters", "año": "year", "años": "years", "un": "a", "una": "a",
        "media": "half", "primer": "first", "primero": "first", "primera": "first", "segundo": "second",
        "segunda": "second", "tercer": "third", "tercero": "third", "tercera": "third", "cuarto": "fourth",
        "cuarta": "fourth", "quinto": "fifth", "quinta": "fifth", "último": "last", "última": "last",
        "próximo": "next", "próxima": "next",
        # times of day
        "a las": "at", "a la": "at", "# y media": "#:30", "# y cuarto": "#:15", "sobre las": "around",
        # words between
        "el": "the", "la": "the", "de": "of", "del": "of the", "en": "in", "dentro de": "in",
        "y": "and", "y el": "and", "y los": "and",
        "hasta": "until", "desde": "from", "desde el": "from", "desde las": "from", "hasta las": "until",
        "a partir de": "from", "a partir del": "from the", "de # a #": "from # to #", "entre": "between",
        "entre las": "between", "y las": "and", "excepto": "except", "menos": "except", "salvo": "except",
        "antes de": "before", "antes del": "before", "después de": "after", "después del": "after",
        "alrededor de": "around",
    }
)  # fmt: skip
