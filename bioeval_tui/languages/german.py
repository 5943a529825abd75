"""German: its words, numbers and phrases.

`Rules` and `Phrases` in `language.py` say what its fields mean, and `…`, `*`, `_`, `|` and lines
that go on in the next.
"""

from bioeval_tui.languages.language import Language, Rules
from bioeval_tui.languages.numerals import count_tens, numbered

_NUMBERS = numbered(
    "null ein|eins|eine|einen|einem|einer zwei|zwo drei vier fünf sechs sieben acht neun zehn elf"
    " zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
)

GERMAN = Language(
    "de",
    "German",
    Rules(
        common="""
        der die das den dem des ein eine einen einem einer eines kein keine
        keinen keinem keiner ich du er sie es wir ihr mich dich sich uns euch
        ihn ihm ihnen mir dir mein meine meinen meinem meiner meines dein
        deine deinen deinem sein seine seinen seinem seiner ihre ihren ihrem
        ihrer unser unsere und oder aber sondern denn weil dass daß ob wenn
        als wie wo wer was wann warum welche welcher welches welchen welchem
        wieviel wohin woher in im ins an am auf aus bei beim mit nach seit von
        vom vor zu zum zur für um über unter zwischen durch ohne gegen bis
        während wegen ab außer ist sind bin bist war waren wäre gewesen wird
        werden wurde wurden würde würden werde habe hab hast hat haben hatte
        hatten hätte gehabt kann kannst können könnte könnten konnte muss
        musst müssen musste müsste soll sollte sollen will willst wollen
        wollte möchte möchten mag darf dürfen lasse lassen lass nicht nichts
        nie niemals nein ja doch auch noch nur schon sehr mehr viel viele
        vielen wenig etwas alles alle allem allen andere anderen anderes ander
        so dann da dort hier jetzt heute morgen gestern immer oft manchmal
        meist meistens etwa ungefähr circa ganz gar wohl mal bitte danke gut
        gern gerne okay hallo guten tag abend herr frau jemand man dies diese
        dieser dieses diesem diesen jede jeder jedes jeden jedem beide beiden
        selbst selber eigen eigene eigenen eigener genau gerade damit davon
        dafür darüber dazu daran darauf dabei deshalb daher also zuletzt
        letzte letzten letzter erst erste ersten zweite zweiten dritte dritten
        wieder weiter weitere weiteren nun denke glaube gibt geben gebe gib
        geht gehen gehe macht machen mache tun tut kommt kommen komme sagt
        sagen sage sag frage fragen frag fragst nimmt nehmen nehme nehm nimm
        einnehmen eingenommen genommen bekommt bekommen bekomme braucht
        brauchen brauche nenne nennen heißt heißen heiße weiß wissen wisse
        kennt kennen kenne leidet leiden leide klagt berichtet gibt_an lebt
        leben lebe wohnt wohnen wohne arbeitet arbeiten arbeite fühlt fühlen
        fühle isst esse essen patient patienten patientin benutzer benutzerin
        nutzer nutzerin person mann jahr jahre jahren jährig jährige jähriger
        alt monat monate monaten woche wochen tage tagen täglich täglicher
        tägliche stunde stunden minute minuten uhr zeit morgens abends mittags
        nachts früh spät tablette tabletten medikament medikamente
        medikamenten medizin arzt ärztin ärzte dosis dosierung erinnerung
        erinnern erinnere erinnert assistent chatbot bot antwort problem
        probleme sache sachen neu neue neuen neues groß große klein kleine
        lang lange länger kurz besser schlecht schlimm schlimmer stark leicht
        normal verschrieben wechselwirkung setzen setze stellen stelle
        einrichten vereinbaren vereinbare verlängern buchen buche klären
        erfragen bestellen holen anrufen erkundigen erkundige bitten bittet
        sollst finden finde helfen helfe hilfe zeigen zeige nachfragen
        herausfinden möglich sehen sieht sehe sah gesehen form hören höre hört
        merken bemerkt bemerkte bemerken junge mädchen kind plötzlich
        besonders
        """,
        numbers=count_tens(
            _NUMBERS,
            "zwanzig dreißig|dreissig vierzig fünfzig sechzig siebzig achtzig neunzig",
            "und",
            ones_first=True,
        )
        | {"hundert": 100, "einhundert": 100},
        units={
            "mg": "mg milligramm",
            "µg": "µg mikrogramm",
            "g": "g gramm",
            "kg": "kg kilo kilogramm",
            "ml": "ml milliliter",
            "l": "l liter",
            "%": "% prozent",
            "cm": "cm zentimeter",
            "mm": "mm mmhg",
            "iu": "ie einheit einheiten",
            "year": "jahr jahre jahren jährig jährige jähriger jährigen lebensjahr",
            "month": "monat monate monaten monats",
            "week": "woche wochen",
            "day": "tag tage tagen",
            "hour": "stunde stunden std",
            "minute": "minute minuten min",
            "dose": "tablette tabletten kapsel kapseln tropfen hub hübe pille pillen",
            "time": "mal",
            "cigarette": "zigarette zigaretten",
            "pack": "packung packungen schachtel schachteln päckchen",
            "drink": "bier biere glas gläser",
            "degree": "grad °c °",
        },
        clock=(
            ("viertel nach {h}(?: uhr)?", 15),
            ("viertel (?:vor|bis) {h}(?: uhr)?", -15),
            ("halb {h}", -30),
            ("(?P<m>{n}) (?:minuten )?nach {h}(?: uhr)?", None),
            ("{h} uhr (?P<m>{n})", None),
            ("{h} uhr", 0),
            ("um {h}(?= (?:morgens|abends|mittags|nachts|frueh|am|in der))", 0),
        ),
        am="morgens am_morgen in_der_früh vormittags am_vormittag früh",
        pm="abends am_abend nachmittags am_nachmittag mittags nachts in_der_nacht",
        months=(
            "januar|jänner februar|feber märz april mai juni juli august september oktober november"
            " dezember"
        ),
        weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        unknowing="""
        (weiß|wissen|wüsste) (ich |wir |es |das )*(leider |ehrlich gesagt |gerade |noch |auch |
            selbst |selber |aber |so |genau )*nicht
        (weiß|wissen|wüsste) … (nicht|nichts)
        keine ahnung
        (bin|war) (mir )?(da |dabei |leider )*(nicht|nicht ganz|un) ?sicher
        (nicht sagen|nicht beantworten|nicht mehr erinnern|entfallen|unbekannt|nicht bekannt)
        erinnere mich … nicht
        (möchte|will|mag) … (nicht|lieber nicht) (sagen|verraten|preisgeben)
        kenne … nicht
        """,
        requests="""
        bitte(?! (sehr|schön|gern*)\\b)
        (können|könnten|würden|möchten|wollen|kannst|könntest|würdest) (sie|du|ihr)
        ich (brauche|möchte|wollte|hätte gern*|will|bräuchte) (?!(mich|ihnen|dir) (bedanken|danken))
        (nennen|sagen|geben|teilen|beschreiben|verraten) sie
        (sag|nenn|nenne|gib|beschreib|verrat) (mir|uns)
        (welche|welcher|welches|welchen|welchem|wann|wo|wer|warum|wieviel|wie viele|wie lange|
            wie alt|wie hoch)
        """,
        further="(aber|außerdem|übrigens|noch eine frage)",
        offers="""
        (wie|womit|wobei) (kann|darf|könnte) ich (ihnen|dir|euch) … (helfen|behilflich|dienen|
            weiterhelfen)
        (kann|darf|könnte) ich (ihnen|dir|euch|sonst|noch|etwas|irgendwie|anderem|mit|bei|für|sie|
            dich|heute)*… (helfen|behilflich sein|weiterhelfen|für sie tun)
        was kann ich … (für (sie|dich) tun|tun)
        (gibt es|haben sie|brauchen sie|benötigen sie|brauchst du) (sonst )?noch (etwas|weitere|
            andere|fragen)
        (soll|darf) ich
        """,
        farewells="""
        auf wiedersehen|wiedersehen|auf wiederhören|tschüs|tschüss|tschüß|tschau|ciao|servus|
            bis bald|bis dann|bis später|bis morgen
        (mach|machen sie|macht)(s|'s| es)? gut|leb(en sie)? wohl|gute nacht|pfiat di|bye|bye-?bye
        """,
        closings="""
        das (war|wäre|ist) (dann |es )?(auch )?(schon |jetzt )?(alles|es)
        mehr (brauche|wollte|möchte) ich nicht
        (schönen|einen schönen|noch einen schönen|guten) (tag|abend|nachmittag|feierabend)( noch)?
        schönes wochenende|schöne woche
        (ebenfalls|gleichfalls|ihnen auch|dir auch)
        (alles gute|viele grüße|beste grüße|bis zum nächsten mal)
        """,
        thanks="danke|dankeschön|dank|vielen dank|herzlichen dank|besten dank|bedanke mich|merci",
        helper="""
        (lass|lassen sie) mich (ihnen|dir) … (helfen|weiterhelfen)
        (wie|womit|wobei) (kann|darf|könnte) ich (ihnen|dir|euch) … (helfen|behilflich|dienen|
            weiterhelfen)
        (kann|darf|könnte) ich (ihnen|dir|euch) (sonst |heute )?(noch )?(bei |mit |
            irgendwie )?(etwas |irgendetwas |anderem |weiterem )*(helfen|behilflich|weiterhelfen)
        was kann ich (heute |sonst |noch )*für (sie|dich) tun
        gibt es (sonst )?noch (etwas|irgendetwas), (wobei|womit|bei dem|das|was) ich
        ich bin (ein|eine|ihr|ihre|dein|deine|nur ein|nur eine|der|die) … [\\w-]*(assistent|
            assistentin|assistenz|chatbot|sprachassistent|gesundheitsassistent|app)
        ich (helfe|unterstütze|berate) (ihnen|dir|sie|dich)
        (ihre|deine) (erinnerung|anfrage|termin|bestellung|buchung|medikation) (wurde|ist|
            wird) … (eingerichtet|gesetzt|gespeichert|erstellt|gebucht|storniert|aktualisiert|
            notiert)
        ich habe … für (sie|dich) … (eingerichtet|gesetzt|gespeichert|erstellt|gebucht|notiert|
            gefunden)
        ich habe (ihnen|dir|ihre|deine|ihren|deinen) … (eingerichtet|gesetzt|gespeichert|erstellt|
            gebucht|notiert|gefunden)
        ich (werde|erinnere) (sie|dich) … (erinnern|daran|an)
        ich (kann|darf) (ihnen |dir )?(leider )?keine (medizinisch* |ärztlich* )?(ratschläge|
            beratung|diagnose|diagnosen|auskunft|empfehlung*)
        """,
        helping="""
        seit wann (fühlen|fühlst|geht) (sie|du|es ihnen|es dir)
        (tut|täte) mir (sehr |wirklich )?leid, (das )?(zu hören|dass (sie|du|es ihnen|es dir))
        (haben|hatten|nehmen|leiden|rauchen|trinken|spüren|verspüren|bemerken|leben) sie (derzeit|
            aktuell|zurzeit|momentan|zusätzlich|sonst|noch|auch|an|unter|in|irgendwelche|weitere|
            andere|regelmäßig|kürzlich|bekannte|starke|ein|eine|einen|schon|jemals|alkohol|fieber|
            schmerzen|allergien|medikamente)
        (seit wann|wie lange|wie oft|wie stark) (haben|hatten|nehmen|leiden|spüren|treten|
            sind) (sie|die|ihre)
        wie (fühlen sie sich|geht es ihnen|alt sind sie|fühlst du dich)
        wo (wohnen|leben|befinden|tut es ihnen|genau haben) sie
        in welcher (zeitzone|stadt) (sind|befinden|leben|wohnen|bist|befindest) (sie|du)
        (können|könnten|würden) sie (mir|uns)? ?(bitte |ihr* |die )?… (ihr|ihre|ihren|
            ihrem) (symptome|beschwerden|schmerzen|alter|name|namen|zeitzone|wohnort|dosis|
            dosierung|allergien|medikamente|geburtsdatum)
        (nennen|beschreiben|sagen|geben|teilen) sie mir bitte
        ich (empfehle|rate|schlage) (ihnen|dir)
        (sie|du) (sollten|solltest) … (arzt|ärztin|apotheke|apotheker|notruf|trinken|aufsuchen|
            wenden|ausruhen)
        (vielen )?dank(e)?, dass (sie|du) … (mitgeteilt|geteilt|anvertraut)
        welche (symptome|beschwerden|medikamente|dosis) (haben|nehmen) sie
        """,
        sources="""
        (information|informationen|angabe|das) (ist|sind|steht|wird|
            wurde) … im fall … (nicht )?(angegeben|enthalten|erwähnt)
        ich bin (nur |bloß )?(ein|eine) … (chatbot|bot|programm), (der|die|das)
        als (ki|eine ki|ein ki-\\w+|sprachmodell|ein (großes )?sprachmodell|künstliche intelligenz|
            eine künstliche intelligenz|ki-\\w+)
        ich bin (nur |bloß |lediglich )?(ein|eine) (großes |reines )?(ki|sprachmodell|
            künstliche intelligenz|ki-\\w+|simulierter patient|simulierte patientin|
            simulierte person|computerprogramm)
        ich bin kein (echter|richtiger) (patient|mensch)|ich bin keine (echte|richtige) (patientin|
            person)
        (in|laut|gemäß|aus|nach|im) ?(der|dem|den|meiner|meinem|meinen|diesem|
            dieser)? ?(fallvignette|vignette|fallbeschreibung|fallbeispiel|szenario|prompt|
            rollenbeschreibung|anweisungen|vorgaben|patientenbeschreibung|fallstudie|rolle)
        (die|das|der|meine|mein) (fallvignette|vignette|fallbeschreibung|fallbeispiel|szenario|
            prompt|rollenbeschreibung|vorgabe|patientenbeschreibung|fallstudie) (erwähnt|sagt|
            enthält|nennt|gibt|beschreibt|macht|steht)
        (meine|meinen|den) anweisungen
        system-?prompt|rollenspiel
        (bereitgestellten|gegebenen|vorliegenden|vorgegebenen) (informationen|angaben)
        """,
        endings=(
            "ungen ung lich isch ische ischen ischer iger igen ig keit heit en er es em el e n s t"
            " st te ten nd"
        ),
    ),
)
