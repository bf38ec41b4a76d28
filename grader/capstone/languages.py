"""The words of dates in the languages that the capstone reads, in small letters.

Months have the form that they have inside a date (Russian, Polish and Finnish decline them). With
slashes and dots the day comes first: 11/21/2026 is not a date here, since 11/12 would be ambiguous.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """Names from January to December and from Monday to Sunday, and templates that use them.

    Fields: d, dd (two digits), th (English ordinal), m, mm, month, mon, yyyy, yy, weekday, wd.
    """

    name: str
    months: tuple[str, ...]
    short_months: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]
    templates: tuple[str, ...]


def _language(
    name: str, months: str, short: str, weekdays: str, short_weekdays: str, *templates: str
) -> Language:
    return Language(
        name,
        tuple(months.split()),
        tuple(short.split()),
        tuple(weekdays.split()),
        tuple(short_weekdays.split()),
        templates,
    )


_NUMBERS = " ".join(str(number) for number in range(1, 13))
_DAYS = " ".join(str(number) for number in range(1, 8))

LANGUAGES: tuple[Language, ...] = (
    _language(
        "numbers",
        _NUMBERS,
        _NUMBERS,
        _DAYS,
        _DAYS,
        "{yyyy}-{mm}-{dd}",
        "{yyyy}/{mm}/{dd}",
        "{yyyy}.{mm}.{dd}",
        "{yyyy}{mm}{dd}",
        "{dd}/{mm}/{yyyy}",
        "{d}/{m}/{yyyy}",
        "{dd}.{mm}.{yyyy}",
        "{d}.{m}.{yyyy}",
        "{d}. {m}. {yyyy}",
        "{dd}-{mm}-{yyyy}",
        "{d}.{m}.{yy}",
    ),
    _language(
        "English",
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "monday tuesday wednesday thursday friday saturday sunday",
        "mon tue wed thu fri sat sun",
        "{month} {d}, {yyyy}",
        "{month} {th}, {yyyy}",
        "{weekday}, {month} {d}, {yyyy}",
        "{wd} {d} {mon} {yyyy}",
        "{d} {month} {yyyy}",
        "{th} of {month} {yyyy}",
        "{weekday} the {th} of {month}, {yyyy}",
        "{mon} {d} {yyyy}",
        "{dd}-{mon}-{yyyy}",
        "{wd}, {dd} {mon} {yy}",
    ),
    _language(
        "German",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "jan feb mär apr mai jun jul aug sep okt nov dez",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "mo di mi do fr sa so",
        "{d}. {month} {yyyy}",
        "{weekday}, {d}. {month} {yyyy}",
        "{weekday}, den {d}. {month} {yyyy}",
        "{wd}, {dd}.{mm}.{yyyy}",
        "{d}. {mon} {yyyy}",
    ),
    _language(
        "French",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv févr mars avr mai juin juil août sept oct nov déc",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lun mar mer jeu ven sam dim",
        "{d} {month} {yyyy}",
        "le {d} {month} {yyyy}",
        "{weekday} {d} {month} {yyyy}",
        "{wd}. {d} {mon}. {yyyy}",
    ),
    _language(
        "Spanish",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene feb mar abr may jun jul ago sept oct nov dic",
        "lunes martes miércoles jueves viernes sábado domingo",
        "lun mar mié jue vie sáb dom",
        "{d} de {month} de {yyyy}",
        "{weekday}, {d} de {month} de {yyyy}",
        "{d} {mon} {yyyy}",
        "{wd}, {d} {mon} {yyyy}",
    ),
    _language(
        "Portuguese",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "jan fev mar abr mai jun jul ago set out nov dez",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
        "seg ter qua qui sex sáb dom",
        "{d} de {month} de {yyyy}",
        "{weekday}, {d} de {month} de {yyyy}",
        "{d} de {mon}. de {yyyy}",
    ),
    _language(
        "Italian",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "lun mar mer gio ven sab dom",
        "{d} {month} {yyyy}",
        "{weekday} {d} {month} {yyyy}",
        "{wd} {d} {mon} {yyyy}",
    ),
    _language(
        "Dutch",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "ma di wo do vr za zo",
        "{d} {month} {yyyy}",
        "{weekday} {d} {month} {yyyy}",
        "{wd} {d} {mon} {yyyy}",
    ),
    _language(
        "Swedish",
        "januari februari mars april maj juni juli augusti september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
        "mån tis ons tors fre lör sön",
        "{d} {month} {yyyy}",
        "{weekday} den {d} {month} {yyyy}",
    ),
    _language(
        "Polish",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
        "listopada grudnia",
        "sty lut mar kwi maj cze lip sie wrz paź lis gru",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela",
        "pon wt śr czw pt sob nd",
        "{d} {month} {yyyy}",
        "{weekday}, {d} {month} {yyyy} r.",
    ),
    _language(
        "Russian",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "янв фев мар апр мая июн июл авг сен окт ноя дек",
        "понедельник вторник среда четверг пятница суббота воскресенье",
        "пн вт ср чт пт сб вс",
        "{d} {month} {yyyy}",
        "{d} {month} {yyyy} г.",
        "{weekday}, {d} {month} {yyyy}",
    ),
    _language(
        "Japanese",
        _NUMBERS,
        _NUMBERS,
        "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
        "月 火 水 木 金 土 日",
        "{yyyy}年{m}月{d}日",
        "{yyyy}年{m}月{d}日{weekday}",
        "{yyyy}年{m}月{d}日({wd})",
    ),
    _language(
        "Korean",
        _NUMBERS,
        _NUMBERS,
        "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
        "월 화 수 목 금 토 일",
        "{yyyy}년 {m}월 {d}일",
        "{yyyy}년 {m}월 {d}일 {weekday}",
    ),
)
