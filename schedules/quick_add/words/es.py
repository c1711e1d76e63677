"""The Spanish words of quick add: as in en.py."""

PREAMBLES = "por_favor_recuérdame recuérdame_que recuérdame recordarme"
COMPOUNDS = "{ten}_y_{unit}"

_ONES = ("cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
         "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
         "veintiocho veintinueve").split()  # fmt: skip
_DAYS = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
_PARTS = {"morning": "mañana", "tarde": "tarde", "night": "noche", "dawn": "madrugada"}

WORDS = {
    "num": dict(enumerate(_ONES)) | {1: "uno una", 21: "veintiuno veintiún", 30: "treinta", 40: "cuarenta",
                                     50: "cincuenta", 60: "sesenta", 90: "noventa"},
    "ord": {1: "primer primero primera", 2: "segundo segunda", 3: "tercer tercero tercera", 4: "cuarto cuarta",
            5: "quinto quinta", 6: "sexto sexta", 7: "séptimo séptima", 8: "octavo octava", 9: "noveno novena", 10: "décimo décima"},
    "last": "último última",
    "unit": {"seconds": "segundos", "minutes": "minuto minutos min", "hours": "hora horas hs", "days": "día días",
             "weeks": "semana semanas", "months": "mes meses", "years": "año años", "quarters": "trimestre trimestres"},
    "second": {"seconds": "segundo"},
    "step": {(2, "weeks"): "una_quincena", (15, "minutes"): "un_cuarto_de_hora", (45, "minutes"): "tres_cuartos_de_hora"},
    "weekday": dict(enumerate(_DAYS)) | {0: "lunes lun", 2: "miércoles mié", 3: "jueves jue", 4: "viernes vie",
                                         5: "sábado sáb"},
    "weakday": {6: "dom"},
    "month": {1: "enero ene", 2: "febrero", 3: "marzo", 4: "abril abr", 5: "mayo", 6: "junio", 7: "julio",
              8: "agosto ago", 9: "septiembre setiembre", 10: "octubre", 11: "noviembre", 12: "diciembre dic"},
    "plural": {5: "sábados", 6: "domingos"}
              | {number: f"los_{name}" for number, name in enumerate(_DAYS[:5])}
              | {5: "sábados los_sábados", 6: "domingos los_domingos"},
    "workday": "día_laborable día_hábil",
    "workdays": "días_laborables los_días_laborables entre_semana días_hábiles lunes_a_viernes de_lunes_a_viernes",
    "weekend": "fin_de_semana", "weekends": "fines_de_semana los_fines_de_semana",
    "rel": {0: "hoy", 1: "mañana", 2: "pasado_mañana"},
    "tonight": "esta_noche", "now": "a_partir_de_ahora más_tarde después",
    "part": {"morning": "mañana", "tarde": "tarde tardes", "night": "noche noches", "dawn": "madrugada"},
    "inpart": {part: f"por_la_{word} de_la_{word} en_la_{word} a_la_{word}" for part, word in _PARTS.items()}
              | {"dawn": "de_la_madrugada por_la_madrugada de_madrugada", "night": "por_la_noche de_la_noche en_la_noche a_la_noche "
                 "de_noche", "morning": "por_la_mañana de_la_mañana en_la_mañana a_la_mañana"},
    "named": {12: "mediodía al_mediodía a_mediodía del_mediodía", 0: "medianoche a_medianoche a_la_medianoche"},
    "adverb": {(1, "days"): "diario diariamente", (1, "weeks"): "semanal semanalmente",
               (1, "months"): "mensual mensualmente", (3, "months"): "trimestral", (1, "years"): "anual anualmente"},
    "every": "cada todos_los todas_las", "all": "todos_los todas_las", "once": "una_vez", "times": "veces", "twice": "dos_veces",
    "at": "a_las a_la @", "las": "las la a_las a_la", "on": "el en_el los", "this": "este esta", "next": "próximo próxima",
    "nextafter": "que_viene próximo próxima siguiente que_vienen", "the": "el la los",
    "of": "de del de_el del_mes_de", "in": "en dentro_de de_aquí_a", "a": "un una al a_la", "and": "y , e", "to": "a al hasta_el",
    "until": "hasta hasta_el hasta_la hasta_las", "from": "desde desde_el desde_la desde_las a_partir_de a_partir_del de del",
    "for": "durante por", "between": "entre entre_las entre_la", "except": "excepto menos salvo", "minus": "menos",
    "half": "media medio", "quarter": "cuarto", "oclock": "hs horas en_punto", "endof": "fin_de fin_del",
    "dayword": "día el_día",
    "meal": "almuerzo cena desayuno comida",
    "feast": {"01-01": "año_nuevo día_de_año_nuevo", "01-05": "noche_de_reyes", "01-06": "reyes día_de_reyes reyes_magos",
              "02-14": "san_valentín día_de_san_valentín", "03-19": "san_josé día_del_padre", "05-01": "día_del_trabajo día_del_trabajador",
              "06-24": "san_juan", "10-12": "día_de_la_hispanidad", "10-31": "halloween", "11-01": "todos_los_santos",
              "12-06": "día_de_la_constitución", "12-24": "nochebuena", "12-25": "navidad día_de_navidad",
              "12-28": "día_de_los_inocentes", "12-31": "nochevieja fin_de_año", "easter+0": "pascua domingo_de_pascua "
              "domingo_de_resurrección", "easter+1": "lunes_de_pascua", "easter-2": "viernes_santo", "easter-3": "jueves_santo",
              "easter-46": "miércoles_de_ceniza", "easter-7": "domingo_de_ramos semana_santa", "easter+39": "ascensión",
              "easter+49": "pentecostés", "easter+60": "corpus_christi", "05-1-6": "día_de_la_madre"},
    "agobefore": "hace", "over": "ayer anteayer anoche antier pasado pasada pasados anterior",
    "vague": "cuatrimestre final finalizar todo_el toda_la últimos primeros finales fines buenas_noches buenas_tardes vigésimo ortodoxo chino islámico mil cien ciento cientos pronto luego algunos algunas varios varias aproximadamente circa temprano tarde_o_temprano "
             "principios mediados comienzos inicio verano invierno primavera otoño alrededor "
             "tempranas ahora siglo década décadas par finales comienzo tardar",
    "near": "tras antes después desde hasta entre sobre alrededor hacia desde_las durante",
    "label": "habitación página capítulo puerta andén línea autobús vuelo edificio piso planta número sala mesa fila factura",
}  # fmt: skip
ORDINARY = (
    "mes mesa meses mayor mayo julia junta hora horas ahora dia diva dios doces tardes tarde noche noches coche coches "
    "mañanas lune marte martes viaje vienes viene nieves jueves nueve nuevo nueva nuevos horno forma toma roma sopa "
    "años anos año ano daño baño paño caño maña araña semanas semana semanal hora oras moras loras floras minutos "
    "segundos mundo fundo cada cadena once onces doce dote tres tren seis siete sieto ocho once veinte treinta mercado"
)
