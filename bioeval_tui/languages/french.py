"""French: its words, numbers and phrases.

`Rules` and `Phrases` in `language.py` say what its fields mean, and `…`, `*`, `_`, `|` and lines
that go on in the next.
"""

from bioeval_tui.languages.language import Language, Rules
from bioeval_tui.languages.numerals import count_tens, numbered

_TO_NINETEEN = numbered(
    "zéro un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze"
    " seize dix-sept|dix_sept dix-huit|dix_huit dix-neuf|dix_neuf"
)
_TENS = ("vingt", "trente", "quarante", "cinquante", "soixante")
_NUMBERS = count_tens(_TO_NINETEEN, " ".join(_TENS), "-") | count_tens(
    _TO_NINETEEN, " ".join(_TENS), " "
)
_NUMBERS |= {f"{ten} et un": value for ten, value in zip(_TENS, range(21, 70, 10), strict=True)}
for _word, _value in _TO_NINETEEN.items():
    if _value >= 10:
        _NUMBERS[f"soixante-{_word}"] = _NUMBERS[f"soixante {_word}"] = 60 + _value
    if _value:
        for _joint in ("-", " "):
            _NUMBERS[f"quatre{_joint}vingt{_joint}{_word}"] = 80 + _value
_NUMBERS |= {
    "quatre-vingts": 80, "quatre-vingt": 80, "soixante et onze": 71, "septante": 70, "huitante": 80,
    "octante": 80,
    "nonante": 90, "cent": 100,
}  # fmt: skip

FRENCH = Language(
    "fr",
    "French",
    Rules(
        common="""
        le la les un une des du de d l au aux à ce cet cette ces mon ma mes
        ton ta tes son sa ses notre nos votre vos leur leurs je j tu il elle
        on nous vous ils elles me m te t se s lui y en qui que qu quoi dont où
        quand comment pourquoi combien quel quelle quels quelles et ou mais
        donc or ni car si comme parce puisque lorsque pour par avec sans sous
        sur dans chez vers entre depuis pendant avant après jusque jusqu
        contre dès est suis es sommes êtes sont était étais étaient été être
        sera serait soit ai as a avons avez ont avait avais avaient eu avoir
        aura aurait fait faire fais faites font peut peux pouvez pouvons
        pourrait pourriez pouvoir doit dois devez devrait devoir veut veux
        voulez voudrais vouloir va vais allez vont aller ne n pas plus jamais
        rien non oui aussi encore déjà très trop peu beaucoup assez tout toute
        tous toutes autre autres même mêmes chaque plusieurs certains certaine
        bien mal bon bonne mieux ici là maintenant hier aujourd'hui aujourd
        hui demain toujours souvent parfois environ presque peut-être alors
        puis ensuite enfin merci bonjour bonsoir salut s'il plaît svp ok
        d'accord accord monsieur madame chose choses ça cela ceci c voici
        voilà cause dire dit dis dites parler parle sais sait savez savoir
        connais connaît connaître crois pense veuillez prend prends prenez
        prendre pris prise donne donner donnez utilise utiliser souffre
        souffrez présente rapporte signale vit vis vivez vivre habite habites
        habitez habiter demande demander demandez obtenir obtiens trouver
        trouve aide aider aidez besoin patient patiente patients utilisateur
        utilisatrice personne homme femme ans an année années âge âgé âgée
        mois semaine semaines jour jours journée heure heures minute minutes
        fois matin midi soir nuit après-midi tôt tard comprimé comprimés
        médicament médicaments médecin docteur dose dosage posologie rappel
        rappels rappeler rappelle rappelez assistant chatbot question
        questions réponse problème problèmes nouveau nouvelle grand grande
        petit petite long longue dernier dernière derniers dernières premier
        première deuxième fort forte léger légère normal propre exactement
        vraiment seulement juste régulièrement prescrit interaction mettre
        mettez moment récemment voit vois voir vu forme remarqué remarque
        entend garçon fille enfant soudain soudainement
        """,
        numbers=_NUMBERS,
        units={
            "mg": "mg milligramme milligrammes",
            "µg": "µg microgramme microgrammes",
            "g": "g gramme grammes",
            "kg": "kg kilo kilos kilogramme kilogrammes",
            "ml": "ml millilitre millilitres",
            "l": "l litre litres",
            "%": "% pour_cent",
            "cm": "cm centimètre centimètres",
            "mm": "mm mmhg",
            "iu": "ui unité unités",
            "year": "an ans année années",
            "month": "mois",
            "week": "semaine semaines",
            "day": "jour jours",
            "hour": "heure heures h",
            "minute": "minute minutes min",
            "dose": (
                "comprimé comprimés gélule gélules goutte gouttes bouffée bouffées cachet cachets"
            ),
            "time": "fois",
            "cigarette": "cigarette cigarettes",
            "pack": "paquet paquets",
            "drink": "verre verres bière bières",
            "degree": "degré degrés °c °",
        },
        clock=(
            ("{h} heures? et quart", 15),
            ("{h} heures? et demie?", 30),
            ("{h} heures? moins le quart", -15),
            ("{h} ?(?:heures?|h) ?(?P<m>{n})", None),
            ("{h} ?(?:heures?|h)(?= |$|[.,;!?])", 0),
        ),
        am="du_matin le_matin au_matin",
        pm="du_soir le_soir de_l'après-midi l'après-midi au_soir",
        months=(
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
        ),
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        unknowing="""
        (sais|sait|savons|saurais) (vraiment |malheureusement |même |toujours )*(pas|rien|plus)
        (aucune idée|pas d'idée|pas sûre?|pas certaine?|incertaine?)
        (me |m'en )?souviens (plus|pas)
        (connais|ignore|connaît) (pas)?
        (peux|préfère|veux|voudrais|souhaite) … (pas (le |vous le |vous |la )?(dire|répondre|donner|
            préciser))
        inconnue?s?
        """,
        requests="""
        (s'il (vous|te) plaît|svp|veuillez)
        (pouvez|pourriez|pourrais|peux|voulez|voudriez|auriez)[- ](vous|tu)
        (est-ce que|est-ce qu')
        (je|j') ?(voudrais|aimerais|souhaite|souhaiterais|ai besoin|veux)(?! (vous|te) remercier)
        (dites|donnez|indiquez|précisez|décrivez)[- ]moi
        (quel|quelle|quels|quelles|quand|où|combien|comment|pourquoi)
        """,
        further="(mais|aussi|également|par ailleurs|encore une question)",
        offers="""
        (comment|en quoi|que|qu'est-ce que) (puis-je|je peux|pourrais-je) … (aider|faire pour vous|
            assister|être utile)
        (puis-je|je peux) (vous |t')?(aider|assister|faire)
        (puis-je|est-ce que je peux) … (autre chose|d'autre)
        (y a-t-il|avez-vous|souhaitez-vous|auriez-vous) … (autre chose|d'autres questions|d'autre)
        (voulez-vous|souhaitez-vous) que je
        """,
        farewells="""
        (au revoir|adieu|à bientôt|à plus tard|à plus|à la prochaine|à demain|à tout à l'heure|
            bonne nuit|ciao|bye|bye-?bye)
        prenez soin de vous|prends soin de toi
        """,
        closings="""
        (c'est|ce sera|c'était) (vraiment )?(tout|bon pour moi)
        (bonne|excellente|belle) (journée|soirée|fin de journée|continuation|semaine)
        (vous de même|vous aussi|à vous aussi|pareillement|de même)
        bon week-end
        je n'ai (plus|pas) (besoin )?(d'autre|de rien|rien d'autre)
        """,
        thanks="merci|remercie|mille mercis|grand merci",
        helper="""
        laissez-moi (vous )?(aider|assister)
        (comment|en quoi|que) (puis-je|pourrais-je|je peux) (vous|t') ?(aider|assister|être utile)
        (que|qu'est-ce que) (puis-je|je peux) faire pour (vous|toi)
        (puis-je|est-ce que je peux) (vous |t')?(aider|assister) (pour |à |avec |en )*(autre chose|
            quelque chose|quoi que ce soit)
        (y a-t-il|avez-vous besoin d') ?(quelque chose d'|une )?autre chose que je
        je suis (un|une|votre|ton|l') ?… (assistante?|chatbot|application)( |$|[.,!?])
        je suis (là|ici) pour vous (aider|assister)
        je (peux|vais) (vous|t') ?(aider|assister|rappeler)
        (votre|ton) (rappel|rendez-vous|demande|réservation|commande) (a été|a bien été|est|
            sera) … (programmé|créé|enregistré|configuré|annulé|ajouté|confirmé)e?
        j'ai … (programmé|créé|enregistré|configuré|ajouté|réservé|noté) (votre|ton|pour vous|
            un rappel pour vous)
        je (vous|te) rappellerai
        je ne (peux|suis pas en mesure|dois) (pas )?(de )?(vous )?(donner|fournir|
            poser) … (conseils?|avis|diagnostic)s? ?(médica\\w+)?
        """,
        helping="""
        depuis (quand|combien de temps) (vous|te) (sentez|sens)
        (je suis )?désolée? (d'apprendre|de l'apprendre|que vous)
        (avez-vous|aviez-vous) (déjà|eu|de la|des|d'autres|récemment|remarqué|pris|une|un|mal|
            ressenti|actuellement)
        (prenez-vous|souffrez-vous|fumez-vous|buvez-vous|ressentez-vous|êtes-vous|habitez-vous)
        (depuis quand|depuis combien de temps|à quelle fréquence) (avez-vous|prenez-vous|
            souffrez-vous|ressentez-vous|vos)
        (quel âge avez-vous|comment vous sentez-vous|où habitez-vous|où vivez-vous|où avez-vous mal)
        (quel|quelle|quels|quelles) (est|sont) (votre|vos) (âge|symptômes?|fuseau horaire|nom|
            allergies?|antécédents|poids|date de naissance|ville)
        (pouvez-vous|pourriez-vous) … (me |m')?(indiquer|préciser|décrire|donner) (votre|vos)
        dans quel(le)? (fuseau horaire|ville|pays) (êtes|habitez|vivez|vous)
        je (vous|te) (recommande|conseille|suggère)
        vous (devriez|devez) … (consulter|médecin|pharmacien|boire|éviter|reposer)
        merci (de|d'avoir) (partagé|m'avoir|nous avoir)
        """,
        sources="""
        je (ne )?suis (qu'un|qu'une|un|une) … (chatbot|robot|programme) qui
        (information|informations|cela|ce) … (pas )?(donnée?s?|précisée?s?|mentionnée?s?|
            indiquée?s?) dans le cas
        en tant qu(e |')(ia|intelligence artificielle|modèle de langage|modèle|patient(e)? simulée?|
            assistant ia)
        je suis (juste |seulement |simplement )?(une |un )(ia|intelligence artificielle|
            modèle de langage|programme|patient(e)? (simulée?|virtuel(le)?))
        je ne suis pas (un vrai|une vraie) (patiente?|personne|humain)
        (dans|selon|d'après) (le|la|mon|ma|les|mes|ce|cette) (cas clinique|vignette|scénario|prompt|
            énoncé|consignes?|instructions?|fiche|description du cas|jeu de rôle)
        (le|la|mon|ma|ce|cette) (cas|cas clinique|vignette|scénario|prompt|énoncé|consigne|
            description|description du cas) (ne )?(mentionne|précise|indique|dit|contient|donne|
            parle)
        (mes|les) (instructions|consignes) (disent|indiquent|précisent|ne)
        (informations|données) (fournies|données)( dans)?
        invite système|prompt système|jeu de rôle
        """,
        endings=(
            "ements ement ations ation iques ique euses euse eux ives ive ités ité ées ée és é ez"
            " er ent es e s"
        ),
        capitals=True,
        elides=True,
    ),
)
