"""The numbers of pages."""

import time
from decimal import Decimal
from pathlib import Path

import pytest

from jobs.reading.numbers import number, read, shown

READ = {
    "1.234,56 €": "1234.56",
    "1,234.56": "1234.56",
    "USD 1,234.56 incl. 19 % VAT": "1234.56",
    "1 234,5 €": "1234.5",
    "1\u202f234,5 €": "1234.5",
    "1’234.50 CHF": "1234.50",
    "1.234.567": "1234567",
    "12,34,567": "1234567",
    "1.234": "1.234",
    "1,234": "1234",
    "0,234": "0.234",
    "1,23": "1.23",
    ".5": "0.5",
    "007": "7",
    "12345678901234567890123456789012345": "12345678901234567890123456789012345",
    "10 20": "10",
    "1.5e-05": "0.000015",
    "5e": "5",
    "-3 %": "-3",
    "− 3 %": "-3",
    "-€3": "-3",
    "change: -0.4": "-0.4",
    "A-3": "3",
    "CO2 415 ppm": "415",
    "H2O level 12 cm": "12",
    "7-Tage-Inzidenz: 123,4": "123.4",
    "12-month low 5.5": "5.5",
    "7-Tage": "7",
    "Ticket 4711: 3 open": "3",
    "O3: 57 µg/m³": "57",
    "30.11.2026 10:00: 345 cm": "345",
    "2026-11-30 10:00 345 cm": "345",
    "Stand 10:00 Uhr 21,5 °C": "21.5",
    "11/30/2026 5.4 ft": "5.4",
    "1 234 руб. 50 коп.": "1234.5",
    "12 € 50 Cent": "12.5",
    "5 zł 99 gr": "5.99",
    "1.299 € 50 Cent": "1299.5",
    "1,19 € 25 Cent Pfand": "1.19",
    "12,345,678万円": "123456780000",
    "42/1000 frei, 3 neu": "42",
    "5 zł 99 gramów": "5",
    "5千円": "5000",
    "EZ 05/2019, 80.000 km": "80",
    "5 €, 10 €": "5",
    "5€,10€": "5",
    "10:30": "10",
    "Sie sparen 10 € 29,99 €": "29.99",
    "You save $5.00 (20%) $19.99": "19.99",
    "zzgl. 4,99 € Versand, 19,99 €": "19.99",
    "zzgl. 4,99 € Versand": "4.99",
    "MRP ₹1,499 ₹1,299": "1299",
    "Größe 42, 12,50 €": "12.50",
    "3 Artikel, 12,50 Euro": "12.50",
    "Golf Euro 6, 12.990 Euro": "12990",
    "2 pieces 1,299.50 dollars": "1299.50",
    "0,75 l (11,99 €/l) 8,99 €": "8.99",
    "4,99 € je 100 g, 12,47 €": "12.47",
    "(£1.20 per kg) £3.60": "3.60",
    "11,99 € / l": "11.99",
    "1,99 €* / kg, 9,95 €": "9.95",
    "Sauerstoff 8,2 mg/l (Sättigung 92 %)": "8.2",
    "2 milliards d’euros": "2000000000",
    "2,5 milioni": "2500000",
    "3 miljoen": "3000000",
    "1,5 miljarder kr": "1500000000",
    "1,2 milhões": "1200000",
    "5 Milliohm": "5",
    "Saved 12 of 20": "12",
    "PM2.5: 12": "12",
    "TOP10": "10",
    "R1 299,90": "1299.90",
    "1,2 Tsd. Aufrufe": "1200",
    "10-12": "10",
    "Price - 5": "5",
    "1.299,- €": "1299",
    "1.299,\u2013 €": "1299",
    "99,-": "99",
    "CHF 1’299.\u2014": "1299",
    "1\u2009299,50 €": "1299.5",
    "1\u2007299 €": "1299",
    "\u0661\u066c\u0662\u0663\u0664\u066b\u0665\u0666 \u0631.\u0633": "1234.56",
    "\u0967\u0968\u0969.\u096a\u096b": "123.45",
    "\uff11\uff0c\uff12\uff13\uff14\u5186": "1234",
    "35€ 99": "35.99",
    "35 € 99 inkl. MwSt.": "35.99",
    "35€ 50 Stück": "35",
    "5€ 10€": "5",
    "12€ 20 %": "12",
    "19 ,99 €": "19.99",
    "19’99 €": "19.99",
    "1.299'99 €": "1299.99",
    "5'11": "5",
    "1·299,99 €": "1299.99",
    "Größe 12 · 34 €": "34",
    "12.99 - 15.99 €": "12.99",
    "iPhone 15 - 799 €": "799",
    "iPhone 15 – 799 €": "799",
    "iPhone 15–799 €": "799",
    "Galaxy S24 – 799 €": "799",
    "Größe 42 – 19,99 €": "19.99",
    "Windows 11 – 49 €": "49",
    "iPhone 15 bis 799 €": "799",
    "PS5 499,99 €": "499.99",
    "Galaxy S23 799 €": "799",
    "iPhone16 999 €": "999",
    "Ab1 299 €": "1299",
    "CHF1 299.50": "1299.5",
    "10 – 12 €": "10",
    "Eintritt 10 – 12 €": "10",
    "ab 10 – 50 €": "10",
    "Schuh 12,99 – 55,99 €": "12.99",
    "€ 19 99": "19.99",
    "€ 19 99 inkl. MwSt.": "19.99",
    "€ 1.299 00": "1299",
    "19 99 €": "19.99",
    "19 99 zł": "19.99",
    "1 299 00 €": "1299",
    "$ 5 10 pack": "5",
    "3 for 2 $10": "10",
    "3 items USD$19.99": "19.99",
    "99¢": "0.99",
    "99 ¢": "0.99",
    "149.9¢": "1.499",
    "99 cents": "0.99",
    "$1.05 or 99¢": "1.05",
    "10 centimeters": "10",
    "S/.12.50": "12.5",
    "A$1.5m": "1500000",
    "$1.5 M": "1500000",
    "2m €": "2000000",
    "1.5m": "1.5",
    "12 m": "12",
    "1,5 млн ₽": "1500000",
    "12 тыс. руб.": "12000",
    "3 Mill. €": "3000000",
    "1万2000円": "12000",
    "2½ €": "2.5",
    "½": "0.5",
}
NONE = [
    "1.23.456",
    "",
    "none",
    "€",
    "1.2.3",
    "22.11.2026",
    "1.234,567.8",
    "1,2,3",
    "NaN",
    "Infinity",
    "1" * 41,
    "-",
    ".",
    "²",
]


@pytest.mark.parametrize(("text", "read"), READ.items())
def test_a_number_is_read_as_it_is_written(text: str, read: str) -> None:
    assert number(text) == Decimal(read)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number_is_not_guessed(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("text", "mark", "read"),
    [
        ("1.234", ",", 1234),
        ("1,234", ".", 1234),
        ("1.234,5", ",", Decimal("1234.5")),
        ("1,5", ",", Decimal("1.5")),
        ("1,234.56", ",", None),
        ("1.234,56", ".", None),
        ("1.5", ",", None),
    ],
)
def test_a_known_decimal_mark_leaves_nothing_to_guess(text: str, mark: str, read: Decimal | None) -> None:
    assert number(text, mark) == read


@pytest.mark.parametrize("part", ["9", "½", "1 ", "1'", "1 234 ", "€1 234", "19 99 ", "1-", "¢"])
def test_no_text_makes_the_search_slow(part: str) -> None:
    start = time.process_time()
    read((part * 20_000)[:20_000])
    assert time.process_time() - start < 1


def test_a_number_is_shown_without_needless_zeros() -> None:
    assert [shown(Decimal(text)) for text in ("1234.50", "100", "-0.10", "1E+3", "0.0")] == [
        *("1234.5", "100", "-0.1", "1000", "0")
    ]


PRICES = [
    (line + "\t\t").split("\t")[:3]
    for line in (Path(__file__).with_name("inputs") / "prices.tsv").read_text().splitlines()
]


@pytest.mark.parametrize(("text", "language", "amount"), PRICES)
def test_prices_of_many_countries_are_read(text: str, language: str, amount: str) -> None:
    found = read(text, "", language)
    assert (found and found.value) == (Decimal(amount) if amount else None)


@pytest.mark.parametrize(
    ("text", "language", "value", "other"),
    [
        ("1.234 €", "de", "1234", None),
        ("1.234 €", "en", "1.234", "1234"),
        ("1.234 €", "", "1234", "1.234"),
        ("1.234 kr", "", "1234", None),
        ("$1,234", "", "1234", None),
        ("$1,234", "de", "1234", "1.234"),
        ("1,234 kg", "de", "1.234", None),
        ("1,234", "", "1234", "1.234"),
        ("1.234", "", "1.234", "1234"),
        ("1.234", "es-mx", "1.234", None),
        ("1.234", "es", "1234", None),
        ("1.234", "de-CH".lower(), "1.234", None),
        ("1,5", "en", "1.5", None),
        ("1.234,50 €", "", "1234.5", None),
        ("0.234", "", "0.234", None),
        ("1'299", "", "1299", None),
        ("12.500 KWD", "", "12.5", None),
        ("BHD 12.500", "", "12.5", None),
        ("TND 12,500", "fr", "12.5", None),
        ("12,500 KWD", "", "12500", "12.5"),
        ("1.85⁹ €", "de", "1.859", None),
        ("19,99¹ €", "de", "19.99", None),
        ("$1.2B", "en", "1200000000", None),
        ("Room 5B", "", "5", None),
        ("2,5 Millionen €", "de", "2500000", None),
        ("1,2 Milliarden Euro", "de", "1200000000", None),
        ("3 millones $", "es", "3000000", None),
        ("₹2.5 Cr", "", "25000000", None),
        ("₹2.5 Cr.", "", "25000000", None),
        ("$25 T-Shirt", "en", "25", None),
        ("€25 B-Ware", "de", "25", None),
        ("$3B-plus", "en", "3000000000", None),
        ("Rp 50.000 T-Shirt", "id", "50000", None),
        ("₹50 Lakhs", "", "5000000", None),
        ("$3.2 trillion", "en", "3200000000000", None),
        ("$3.2T", "en", "3200000000000", None),
        ("3.45T", "", "3450000000000", None),
        ("1.5T", "", "1.5", None),
        ("3,2 Billionen €", "de", "3200000000000", None),
        ("1,2 Billion Euro", "de", "1200000000000", None),
        ("3 billions d’euros", "fr", "3000000000000", None),
        ("12 mil euros", "es", "12000", None),
        ("12 mil", "en", "12", None),
        ("R$ 1,2 bi", "pt-br", "1200000000", None),
        ("R$ 3,4 trilhões", "pt-br", "3400000000000", None),
        ("1,2 mil. Kč", "cs", "1200000", None),
        ("1,2 millió Ft", "hu", "1200000", None),
        ("1,2 mia. kr.", "da", "1200000000", None),
        ("1,2 mdr kr", "sv", "1200000000", None),
        ("12 tkr", "sv", "12000", None),
        ("12 M€", "fr", "12000000", None),
        ("1,2 Md€", "fr", "1200000000", None),
        ("1,2 milyar TL", "tr", "1200000000", None),
        ("12 bin TL", "tr", "12000", None),
        ("Rp 1,2 juta", "id", "1200000", None),
        ("1,2 δισ. €", "el", "1200000000", None),
        ("1,2 миллиарда", "ru", "1200000000", None),
        ("12 тысяч", "ru", "12000", None),
        ("12 triệu đồng", "vi", "12000000", None),
        ("1,2 biljoen", "nl", "1200000000000", None),
        ("1,2 bln zł", "pl", "1200000000000", None),
        ("12 mila euro", "it", "12000", None),
        ("1,234.50 CR", "", "1234.5", None),
        ("1 хиляди", "bg", "1000", None),
        ("1,2 milijuna", "hr", "1200000", None),
        ("1,5 mil millones", "es", "1500000000", None),
        ("Rp 1,5 M", "id", "1500000000", None),
        ("1.2 مليون", "ar", "1200000", None),
        ("12 लाख", "hi", "1200000", None),
        ("1.5 พันล้านบาท", "th", "1500000000", None),
        ("1兆2,000億円", "ja", "1200000000000", None),
        ("2万亿元", "zh", "2000000000000", None),
        ("5조원", "ko", "5000000000000", None),
        ("3 조각", "ko", "3", None),
        ("12 trilogy", "", "12", None),
        ("12 md. garanti", "da", "12", None),
        ("6 mdr. binding", "da", "6", None),
        ("30 mn", "fr", "30", None),
        ("12 Tn de CO2", "es", "12", None),
        ("12 миль", "ru", "12", None),
        ("12 Милан", "ru", "12", None),
        ("12 триллеров", "ru", "12", None),
        ("12 พนักงาน", "th", "12", None),
        ("£1.2tn", "en", "1200000000000", None),
        ("1,2 Mds d’euros", "fr", "1200000000", None),
        ("रु.1,299.00", "hi", "1299", None),
        ("-EUR 12,50", "", "-12.5", None),
        ("-R$ 9,99", "pt-br", "-9.99", None),
        ("-HK$9.99", "zh-hk", "-9.99", None),
        ("-Ksh9.99", "", "-9.99", None),
        ("CHF-9.99", "de-ch", "-9.99", None),
        ("kr.-9,99", "da", "-9.99", None),
        ("5 €-10 €", "", "5", None),
        ("- Nur 12 €", "de", "12", None),
        ("Model A-CHF 12", "", "12", None),
    ],
)
def test_in_doubt_the_unit_or_the_pages_language_helps_and_else_both_readings_are_told(
    text: str, language: str, value: str, other: str | None
) -> None:
    found = read(text, "", language)
    assert found is not None
    assert (shown(found.value), found.other and shown(found.other)) == (value, other)


@pytest.mark.parametrize("text", ["1.234", "1,234 €", "1.234,5 €"])
def test_a_stated_mark_leaves_no_doubt(text: str) -> None:
    found = read(text, ",")
    assert found is not None and found.other is None


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("1.299,- €", "EUR"),
        ("CHF 5", "CHF"),
        ("5 %", "%"),
        ("$5", "$"),
        ("US$5", "USD"),
        ("12 kr", "kr"),
        ("99¢", "$"),
        ("iPhone 15 – 799 €", "EUR"),
        ("3 apples", ""),
        (f"{'-' * 19_997}799 €", "EUR"),  # a price at the end of what is searched
    ],
)
def test_a_number_has_its_unit(text: str, unit: str) -> None:
    found = read(text)
    assert found is not None and found.unit == unit
