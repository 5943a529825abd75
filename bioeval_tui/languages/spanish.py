"""Spanish: its words, numbers and phrases.

`Rules` and `Phrases` in `language.py` say what its fields mean, and `…`, `*`, `_`, `|` and lines
that go on in the next.
"""

from bioeval_tui.languages.language import Language, Rules
from bioeval_tui.languages.numerals import count_tens, numbered

_TO_TWENTY_NINE = numbered(
    "cero un|uno|una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce"
    " quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno|veintiún|veintiuna"
    " veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_TENS = count_tens(
    _TO_TWENTY_NINE, "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", " y "
)

SPANISH = Language(
    "es",
    "Spanish",
    Rules(
        common="""
        el la los las lo un una unos unas de del a al y e o u que en por para
        con sin sobre entre desde hasta hacia según contra durante antes
        después yo tú él ella usted nosotros ellos ellas ustedes me te se nos
        le les mi mis tu tus su sus nuestro nuestra este esta estos estas ese
        esa eso esos esas aquel aquella esto qué quién quiénes cuál cuáles
        cuándo dónde cómo cuánto cuánta cuántos cuántas por_qué porque pero
        sino si como cuando donde aunque mientras pues entonces también
        tampoco ni no sí nada nunca jamás nadie algo alguien alguno alguna
        algún algunos algunas ningún ninguna todo toda todos todas otro otra
        otros otras mismo misma mismos cada varios mucho mucha muchos muchas
        poco poca pocos muy más menos tan tanto bastante demasiado casi ya aún
        todavía siempre a_veces quizás ahora hoy ayer mañana aquí allí ahí
        bien mal bueno buena buenos buenas mejor peor es soy eres somos son
        era eran fue fui ser sido está estoy estás están estaba estar estado
        hay había haber he has ha hemos han tiene tengo tienes tienen tenía
        tener tuve hace hago hacer hizo hecho puede puedo puedes pueden podría
        podrías poder debe debo deben debería deber quiere quiero quieren
        quisiera querer va voy vas van ir dice digo decir dime diga dígame
        sabe sé saber conoce conozco conocer cree creo pienso toma tomo tomas
        tomar tomando tomado da doy dar dame usa uso usar vive vivo vives
        vivir reside resido sufre sufro presenta refiere siente siento sentir
        necesita necesito pedir pide pida pídele preguntar pregunta preguntas
        consigue conseguir averiguar encontrar ayuda ayudar ayudarme obtener
        poner ponga pon gracias hola por_favor favor vale ok señor señora cosa
        cosas verdad claro paciente pacientes usuario usuaria persona hombre
        mujer año años edad mes meses semana semanas día días hora horas
        minuto minutos vez veces tarde noche mediodía temprano diario diaria
        diariamente tableta tabletas pastilla pastillas comprimido comprimidos
        medicamento medicamentos medicina medicinas médico médica doctor
        doctora dosis recordatorio recordar recuerda recuérdame recordarme
        asistente chatbot respuesta problema problemas nuevo nueva gran grande
        pequeño pequeña largo último última últimos últimas primero primera
        segundo fuerte leve normal propio propia exactamente realmente solo
        sólo solamente regularmente recetado interacción reservar reserve cita
        concertar averigüe aproximadamente alrededor cerca momento ve veo ver
        visto forma notó noté nota oye niño niña repente
        """,
        numbers=_TENS | {"cien": 100, "ciento": 100},
        units={
            "mg": "mg miligramo miligramos",
            "µg": "µg microgramo microgramos",
            "g": "g gramo gramos",
            "kg": "kg kilo kilos kilogramo kilogramos",
            "ml": "ml mililitro mililitros",
            "l": "l litro litros",
            "%": "% por_ciento",
            "cm": "cm centímetro centímetros",
            "mm": "mm mmhg",
            "iu": "ui unidad unidades",
            "year": "año años",
            "month": "mes meses",
            "week": "semana semanas",
            "day": "día días",
            "hour": "hora horas h",
            "minute": "minuto minutos min",
            "dose": (
                "pastilla pastillas comprimido comprimidos tableta tabletas cápsula cápsulas gota"
                " gotas inhalación inhalaciones"
            ),
            "time": "vez veces",
            "cigarette": "cigarrillo cigarrillos cigarro cigarros",
            "pack": "paquete paquetes cajetilla cajetillas",
            "drink": "cerveza cervezas copa copas vaso vasos",
            "degree": "grado grados °c °",
        },
        clock=(
            ("{h} y cuarto", 15),
            ("{h} y media", 30),
            ("{h} menos cuarto", -15),
            ("cuarto para las? {h}", -15),
            ("las? {h} y (?P<m>{n})", None),
            ("las? {h}(?: en punto| horas)?(?= de la|[.,;!?]|$)", 0),
            ("{h} de la (?=mañana|tarde|noche)", 0),
            ("{h} horas", 0),
        ),
        am="de_la_mañana por_la_mañana",
        pm="de_la_tarde de_la_noche por_la_tarde por_la_noche",
        months=(
            "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre"
            " noviembre diciembre"
        ),
        weekdays="lunes martes miércoles jueves viernes sábado domingo",
        unknowing="""
        no (lo |la |le |me |los |las )*(sé|sabría|recuerdo|acuerdo|conozco|sabemos)
        (ni idea|no tengo (ni )?idea|no estoy (muy |del todo )?segur[oa]|desconozco)
        (prefiero|quiero|puedo) no (decir|contestar|responder|dar)\\w*
        no (puedo|quiero|quisiera|sabría) (decir|contestar|responder)\\w*
        """,
        requests="""
        por favor
        (puede|puedes|podría|podrías|quiere|quieres|podrían|me puede|me puedes)(?! ser)
        (quisiera|quiero|necesito|me gustaría|querría)(?! (agradecer|dar las gracias))
        (dígame|dime|indíqueme|indique|proporcione|describa|cuénteme|cuéntame|explíqueme)
        (cuál|cuáles|cuándo|dónde|quién|cuánto|cuánta|cuántos|cuántas|por qué)
        """,
        further="(pero|también|además|otra pregunta)",
        offers="""
        (cómo|en qué|de qué manera) (puedo|podría) (ayudar|ayudarle|ayudarte|asistir|asistirle|
            servir|servirle)\\w*
        (le|te) (puedo|podría) ayudar
        (qué|algo) … puedo hacer por (usted|ti)
        (hay|necesita|necesitas|desea|tiene|tienes) (algo|alguna) (más|otra|otra cosa|pregunta)
        (puedo|le puedo|te puedo) ayudar\\w* (en|con) (algo|alguna)
        (quiere|quieres|desea|le gustaría|te gustaría) que (yo )?(le|te|lo|la)
        """,
        farewells="""
        (adiós|hasta luego|hasta pronto|hasta la vista|hasta mañana|hasta la próxima|nos vemos|chao|
            chau|bye|ciao)
        (cuídese|cuídate|que esté bien|que estés bien|buenas noches)
        """,
        closings="""
        (eso|esto) (es|era|fue|sería) todo
        (nada más|no necesito nada más|es todo)
        (que tenga|que tengas|tenga|ten|que pase|que pases) (un |una )?(buen|buena|lindo|linda|
            excelente|feliz)
        (buen día|feliz día|buena tarde|buen fin de semana)
        (igualmente|usted también|lo mismo)
        """,
        thanks="gracias|muchas gracias|agradezco|agradecid[oa]|mil gracias",
        helper="""
        permítame (ayudar|asistir)\\w*|déjeme (ayudar|asistir)\\w*
        (cómo|en qué|de qué manera) (le |te |lo |la )?(puedo|podría) (ayudar|asistir|servir)\\w*
        qué (puedo|más puedo) hacer por (usted|ti)
        (hay|necesita|desea) (algo|alguna otra cosa|alguna cosa) más en (lo|la) que (pueda|puedo)
        (puedo|le puedo|te puedo) ayudar\\w* (en|con) (algo|alguna otra cosa)
        soy (un|una|su|tu|el|la|solo un|solo una) … (asistente|chatbot|bot|aplicación)
        estoy (aquí|listo|lista) para (ayudar|asistir)\\w*
        (su|tu) (recordatorio|cita|solicitud|reserva|pedido) (ha sido|fue|está|quedó|
            será) … (programad|cread|guardad|configurad|cancelad|añadid|establecid|registrad|
            confirmad)[oa]
        he (programado|creado|guardado|configurado|añadido|establecido|registrado|reservado) (su|tu|
            un recordatorio para (usted|ti)|el recordatorio)
        (le|te) (recordaré|voy a recordar|avisaré)
        no puedo (dar|darle|darte|ofrecer|proporcionar|hacer)\\w* … (consejos?|asesoramiento|
            diagnósticos?|recomendaciones)( médic\\w+)?
        """,
        helping="""
        desde cuándo se siente
        (lamento|siento) (mucho )?(oír|escuchar|saber|que (se |esté|estés|tenga))
        (ha|has) (tenido|notado|sentido|tomado|experimentado|viajado|sufrido) (usted|algún|alguna|
            fiebre|dolor|otros|otras|cambios|recientemente)
        (tiene|tienes|toma|tomas|fuma|bebe|sufre|siente|padece) (usted|algún|alguna|alergias|
            otros síntomas|fiebre|dolor|actualmente|otro|otra|otros|otras|antecedentes)
        (desde cuándo|cuánto tiempo hace|hace cuánto|con qué frecuencia) (que )?(tiene|toma|siente|
            le|tienes|tomas)
        (cuántos años tiene|cómo se siente|dónde vive|dónde le duele|qué edad tiene)
        (cuál|cuáles) (es|son) (su|sus|tu|tus) (edad|síntomas?|zona horaria|nombre|alergias?|peso|
            fecha de nacimiento|ciudad|dosis)
        en qué (zona horaria|ciudad|país) (está|se encuentra|vive|estás|vives)
        (puede|podría) (decirme|indicarme|describir|describirme|proporcionarme) (su|sus|el|la|los|
            las|más)
        (le|te) (recomiendo|aconsejo|sugiero)
        (debe|debería|tiene que) (consultar|acudir|ver|hablar|beber|evitar|descansar)
        gracias por (compartir|contarme|informarme)
        """,
        sources="""
        (solo |solamente )?soy … (chatbot|bot|programa) que
        (información|dato|eso) … no se (da|dice|menciona|indica) en el caso
        como (una )?(ia|inteligencia artificial|modelo de lenguaje|un modelo de lenguaje|
            paciente simulad[oa]|asistente de ia)
        soy (solo |solamente |simplemente )?(una |un )(ia|inteligencia artificial|
            modelo de lenguaje|programa|paciente (simulad[oa]|virtual))
        no soy (un|una) (paciente|persona|humano) (real|de verdad)
        (en|según) (el|la|mi|mis|las|este|esta) (caso clínico|viñeta|escenario|prompt|enunciado|
            instrucciones|descripción del caso|guion|ficha)
        (el|la|mi|este|esta) (caso|caso clínico|viñeta|escenario|prompt|enunciado|descripción|
            descripción del caso) (no )?(menciona|especifica|indica|dice|contiene|incluye)
        (mis|las) instrucciones (dicen|indican|no)
        (información|datos) (proporcionad[oa]s?|suministrad[oa]s?|facilitad[oa]s?)
        prompt del sistema|juego de rol
        """,
        endings=(
            "amientos amiento aciones ación idades idad istas ista icos icas ico ica osos osas oso"
            " osa ados adas ado ada idos idas ido ida ando iendo amos emos imos ar er ir os as es o"
            " a e s n"
        ),
        capitals=True,
    ),
)
