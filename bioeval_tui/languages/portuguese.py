"""Portuguese, of Portugal and of Brazil.

`Rules` and `Phrases` in `language.py` say what its fields mean, and `…`, `*`, `_`, `|` and lines
that go on in the next.
"""

from bioeval_tui.languages.language import Language, Rules
from bioeval_tui.languages.numerals import count_tens, numbered

_TO_NINETEEN = numbered(
    "zero um|uma dois|duas três quatro cinco seis|meia sete oito nove dez onze doze treze"
    " quatorze|catorze quinze dezesseis|dezasseis dezessete|dezassete dezoito dezenove|dezanove"
)
del _TO_NINETEEN["meia"]

PORTUGUESE = Language(
    "pt",
    "Portuguese",
    Rules(
        common="""
        o a os as um uma uns umas de do da dos das em no na nos nas por pelo
        pela pelos pelas para com sem sobre entre desde até contra durante
        antes depois após ao à aos às e ou mas que se como quando onde porque
        porquê pois então também nem não sim nada nunca jamais ninguém algo
        alguém algum alguma alguns algumas nenhum nenhuma todo toda todos
        todas outro outra outros outras mesmo mesma cada vários muito muita
        muitos muitas pouco pouca poucos mais menos tão tanto bastante quase
        já ainda sempre às_vezes talvez agora hoje ontem amanhã aqui ali lá
        bem mal bom boa melhor pior eu tu ele ela você vocês nós eles elas me
        te lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso
        nossa este esta estes estas esse essa isso isto aquele aquela aquilo
        quem qual quais quanto quanta quantos quantas é sou és somos são era
        eram foi fui ser sido está estou estás estão estava estar estado há
        havia haver tem tenho tens têm temos tinha ter teve tive faz faço
        fazer fez feito pode posso podes podem poderia poder deve devo devem
        deveria dever quer quero querem queria gostaria gosto vai vou vão ir
        diz digo dizer diga disse sabe sei saber conhece conheço acho penso
        toma tomo tomar tomando tomado dá dou dar usa uso usar mora moro morar
        vive vivo viver reside sofre sofro apresenta relata refere sente sinto
        sentir precisa preciso pedir peça pergunta perguntar pergunte
        perguntas conseguir obter descobrir encontrar ajuda ajudar pôr colocar
        obrigado obrigada olá oi favor ok senhor senhora coisa coisas verdade
        claro paciente pacientes usuário usuária utilizador utilizadora pessoa
        homem mulher ano anos idade mês meses semana semanas dia dias hora
        horas minuto minutos vez vezes manhã tarde noite meio-dia cedo diário
        diária diariamente comprimido comprimidos remédio remédios medicamento
        medicamentos medicação médico médica doutor doutora dose lembrete
        lembretes lembrar lembre assistente chatbot resposta problema
        problemas novo nova grande pequeno pequena longo último última últimos
        últimas primeiro primeira segundo forte leve normal próprio própria
        exatamente realmente só somente apenas regularmente receitado
        interação cerca certa certo certas descubra marcar marque consulta
        agendar momento aproximadamente vê vejo ver visto forma notou notei
        nota ouve menino menina repente
        """,
        numbers=count_tens(
            _TO_NINETEEN, "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa", " e "
        )
        | {"cem": 100, "cento": 100},
        units={
            "mg": "mg miligrama miligramas",
            "µg": "µg micrograma microgramas",
            "g": "g grama gramas",
            "kg": "kg quilo quilos quilograma quilogramas",
            "ml": "ml mililitro mililitros",
            "l": "l litro litros",
            "%": "% por_cento",
            "cm": "cm centímetro centímetros",
            "mm": "mm mmhg",
            "iu": "ui unidade unidades",
            "year": "ano anos",
            "month": "mês meses",
            "week": "semana semanas",
            "day": "dia dias",
            "hour": "hora horas h",
            "minute": "minuto minutos min",
            "dose": "comprimido comprimidos cápsula cápsulas gota gotas pílula pílulas jato jatos",
            "time": "vez vezes",
            "cigarette": "cigarro cigarros",
            "pack": "maço maços",
            "drink": "cerveja cervejas copo copos taça taças",
            "degree": "grau graus °c °",
        },
        clock=(
            ("{h}(?: horas?)? e (?:um )?quarto", 15),
            ("{h}(?: horas?)? e meia", 30),
            ("(?:um )?quarto para as? {h}", -15),
            ("(?P<m>{n}) para as? {h}", -1),
            ("[aà]s {h} e (?P<m>{n})", None),
            ("{h} horas? e (?P<m>{n})", None),
            ("{h}h(?P<m>\\d\\d)", None),
            ("{h} ?(?:horas?|h)(?= |$|[.,;!?])", 0),
            ("as {h}(?= da |[.,;!?]|$)", 0),
            ("{h} da (?=manhã|tarde|noite)", 0),
        ),
        am="da_manhã de_manhã pela_manhã",
        pm="da_tarde da_noite à_tarde à_noite de_tarde de_noite",
        months=(
            "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro"
            " dezembro"
        ),
        weekdays=(
            "segunda-feira|segunda_feira terça-feira|terça_feira quarta-feira|quarta_feira"
            " quinta-feira|quinta_feira sexta-feira|sexta_feira sábado domingo"
        ),
        unknowing="""
        não (o |a |me |te |lhe )*(sei|saberia|lembro|recordo|conheço|sabemos)
        (nem ideia|não (tenho|faço) (a menor |a mínima |nenhuma )?ideia|não (tenho|
            estou com) certeza|não estou (bem |muito )?(certo|certa|segur[oa])|desconheço)
        (prefiro|quero|posso|gostaria de) não (dizer|contar|responder|informar)
        não (posso|quero|saberia|gostaria de) (dizer|responder|informar|contar)
        """,
        requests="""
        (por favor|se faz favor)
        (pode|podes|poderia|poderias|podia|você pode|consegue)(?! ser)
        (gostaria|queria|quero|preciso|desejo)(?! (de )?(agradecer|te agradecer|lhe agradecer))
        (diga|diga-me|me diga|diz-me|informe|indique|forneça|descreva|conte-me|me conte)
        (qual|quais|quando|onde|quem|quanto|quanta|quantos|quantas|por que|porquê)
        """,
        further="(mas|também|além disso|outra pergunta)",
        offers="""
        (como|em que|no que|de que forma) (posso|poderia) (ajudar|ajudá-lo|ajudá-la|ajudar-te|
            te ajudar|lhe ajudar|auxiliar|ser útil)\\w*
        (posso|poderia) (ajudar|ajudá-lo|ajudá-la|te ajudar|auxiliar)\\w* (em|com)
        o que (mais )?posso fazer por (você|si|ti)
        (há|tem|precisa de|deseja|gostaria de) (mais )?(alguma coisa|algo|outra coisa|alguma dúvida|
            alguma pergunta|mais alguma)
        (quer|deseja|gostaria) que eu
        """,
        farewells="""
        (adeus|tchau|tchauzinho|até logo|até breve|até mais|até à próxima|até a próxima|até amanhã|
            até já|bye|ciao|fique bem|boa noite)
        """,
        closings="""
        (é|era|foi|seria) (só isso|isso|tudo|apenas isso|só)(?=[ .,!]|$)
        (isso é tudo|isto é tudo|nada mais|mais nada)
        (tenha|tem|desejo|um|uma|bom|boa) … (bom dia|boa tarde|ótimo dia|excelente dia|boa semana|
            bom fim de semana)
        (bom dia|boa tarde|bom fim de semana) (para|pra) (você|si)
        (igualmente|você também|para você também)
        """,
        thanks="obrigad[oa]|muito obrigad[oa]|agradeço|agradecid[oa]|valeu",
        helper="""
        deixe-me (ajudar|auxiliar)[\\w-]*|deixe (que )?eu (te |lhe )?(ajudar|ajude)
        (como|em que|no que|de que forma) (eu )?(posso|poderia) (lhe |te |o |a )?(ajudar|auxiliar|
            ser útil)[\\w-]*
        o que (mais )?(eu )?posso fazer por (você|si|ti)
        (posso|poderia) (lhe |te )?(ajudar|auxiliar)[\\w-]* (em|com) (mais )?(alguma|algo|outra)
        (há|tem|existe) (mais )?(alguma coisa|algo|algo mais) (em|com) que (eu )?(possa|posso)
        (eu )?sou (um|uma|o|a|seu|sua|apenas um|apenas uma) … (assistente|chatbot|bot|aplicativo)
        estou (aqui|pronto|pronta) para (ajudar|auxiliar|te ajudar|lhe ajudar)[\\w-]*
        (o )?(seu|sua|teu|tua) (lembrete|consulta|pedido|solicitação|reserva) (foi|está|será|
            ficou) … (criad|agendad|salv|guardad|configurad|cancelad|adicionad|definid|registrad|
            confirmad)[oa]
        (criei|agendei|salvei|configurei|adicionei|defini|registrei|marquei) (o seu|a sua|seu|sua|
            um lembrete para (você|si)|o lembrete)
        (vou|irei) (lhe |te )?(lembrar|lembrá-lo|lembrá-la|avisar)[\\w-]*
        não posso (dar|lhe dar|te dar|fornecer|oferecer|fazer) … (conselhos?|aconselhamento|
            orientações|orientação|diagnósticos?|recomendações)( médic\\w+)?
        """,
        helping="""
        (desde quando|há quanto tempo) se sente
        (lamento|sinto muito|sinto) (em |por |que |ouvir|saber)
        (você )?(teve|tem tido|notou|sentiu|sente|percebeu) (febre|dor|algum|alguma|outros|outras|
            mudanças)
        (você |o senhor |a senhora )?(tem|toma|fuma|bebe|sofre|possui) (algum|alguma|alergias|
            outros sintomas|outro|outra|outros|outras|febre|histórico)
        (desde quando|há quanto tempo|com que frequência) (você |o senhor |a senhora )?(tem|toma|
            sente|está)
        (quantos anos (você )?tem|como (você )?se sente|onde (você )?mora|onde dói|
            qual (é )?a sua idade)
        (qual|quais) (é|são) (o seu|a sua|os seus|as suas|seu|sua|seus|suas) (idade|sintomas?|
            fuso horário|nome|alergias?|peso|data de nascimento|cidade|dose)
        em (que|qual) (fuso horário|cidade|país) (você |o senhor |a senhora )?(está|mora|vive|
            se encontra)
        (pode|poderia) (me )?(dizer|informar|descrever|fornecer)(-me)? (o seu|a sua|os seus|as suas|
            seu|sua|seus|suas|mais)
        (recomendo|aconselho|sugiro) que
        (você )?(deve|deveria|precisa) (consultar|procurar|ver|falar|beber|evitar|descansar)
        obrigad[oa] por (compartilhar|partilhar|me contar|informar)
        """,
        sources="""
        sou … (chatbot|bot|programa) (que|a fazer)
        (informação|dado|isso) não (é|foi|está) (dada|dado|mencionad[oa]|indicad[oa]|
            fornecid[oa]) no caso
        como (uma )?(ia|inteligência artificial|modelo de linguagem|um modelo de linguagem|
            paciente simulad[oa]|assistente de ia)
        (eu )?sou (apenas |só |somente )?(uma |um )(ia|inteligência artificial|modelo de linguagem|
            programa|paciente (simulad[oa]|virtual))
        não sou (um|uma) (paciente|pessoa|humano) (real|de verdade)
        (no|na|nas|segundo|conforme|de acordo com) (o |a |as |meu |minha |minhas |este |
            esta |neste |nesta )*(caso clínico|vinheta|cenário|prompt|enunciado|instruções|
            descrição do caso|roteiro|ficha)
        (o|a|meu|minha|este|esta) (caso|caso clínico|vinheta|cenário|prompt|enunciado|descrição|
            descrição do caso) (não )?(menciona|especifica|indica|diz|contém|inclui)
        (minhas|as) instruções (dizem|indicam|não)
        (informações|dados) (fornecid[oa]s)
        prompt do sistema|jogo de interpretação|encenação
        """,
        endings=(
            "amentos amento ações ação idades idade istas ista icos icas ico ica osos osas oso osa"
            " ados adas ado ada idos idas ido ida ando endo indo amos emos imos ões ar er ir os as"
            " es o a e s m"
        ),
        capitals=True,
    ),
)
