"""The initial knowledge of the sample agent.

Drugs, targets and interactions are statements of US prescribing information (labels); variants are
classified as ClinVar's expert-reviewed records classify them. Each carries its source. The patients
are invented.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drug:
    """A drug.

    `aliases` are brand and other names, `targets` gene symbols of its main molecular targets.
    """

    name: str
    group: str
    summary: str
    targets: tuple[str, ...]
    aliases: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Interaction:
    """Two drugs that affect one another; `severity` is contraindicated, major or moderate."""

    first: str
    second: str
    severity: str
    effect: str
    source: str

    def partner(self, drug: str) -> str:
        """Return the other drug than this one of the two."""
        if drug == self.first:
            return self.second
        return self.first


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a gene; `name` is its HGVS coding name, `aliases` other ways to write it."""

    gene: str
    name: str
    protein: str
    classification: str
    condition: str
    aliases: tuple[str, ...]
    source: str = "ClinVar"


@dataclass(frozen=True, slots=True)
class Patient:
    """An invented patient."""

    id: str
    age: int
    sex: str
    conditions: tuple[str, ...]
    drugs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The knowledge that answers are based on."""

    drugs: tuple[Drug, ...]
    interactions: tuple[Interaction, ...]
    variants: tuple[Variant, ...]
    patients: tuple[Patient, ...]

    def drug(self, name: str) -> Drug | None:
        """Return the drug of that name."""
        return next((drug for drug in self.drugs if drug.name == name), None)

    def drug_interactions(self, name: str) -> tuple[Interaction, ...]:
        """Return the interactions that a drug takes part in."""
        return tuple(pair for pair in self.interactions if name in (pair.first, pair.second))

    def interaction(self, one: str, other: str) -> Interaction | None:
        """Return the interaction of two drugs."""
        return next(
            (pair for pair in self.interactions if {pair.first, pair.second} == {one, other}), None
        )


def _label(drug: str) -> str:
    return f"{drug} US label"


DRUGS = tuple(
    Drug(name, group, summary, targets, aliases, _label(name.capitalize()))
    for name, group, summary, targets, aliases in (
        ("warfarin", "blood thinner",
         "an anticoagulant that blocks the recycling of vitamin K",
         ("VKORC1",), ("coumadin", "jantoven")),
        ("apixaban", "blood thinner",
         "an anticoagulant that inhibits factor Xa", ("F10",), ("eliquis",)),
        ("clopidogrel", "antiplatelet drug",
         "a prodrug, activated by CYP2C19, that blocks the platelet receptor P2Y12",
         ("P2RY12",), ("plavix",)),
        ("aspirin", "painkiller",
         "an NSAID that irreversibly inhibits cyclooxygenase and so platelet aggregation",
         ("PTGS1", "PTGS2"), ("acetylsalicylic acid", "asa")),
        ("ibuprofen", "painkiller",
         "an NSAID that reversibly inhibits cyclooxygenase",
         ("PTGS1", "PTGS2"), ("advil", "motrin", "nurofen")),
        ("simvastatin", "statin",
         "a lipid-lowering drug that inhibits HMG-CoA reductase; a CYP3A4 substrate",
         ("HMGCR",), ("zocor",)),
        ("atorvastatin", "statin",
         "a lipid-lowering drug that inhibits HMG-CoA reductase; a CYP3A4 substrate",
         ("HMGCR",), ("lipitor",)),
        ("clarithromycin", "antibiotic",
         "a macrolide antibiotic and strong inhibitor of CYP3A4", (), ("biaxin",)),
        ("imatinib", "kinase inhibitor",
         "a kinase inhibitor of BCR-ABL1, KIT and PDGFR, used in chronic myeloid leukaemia and"
         " GIST",
         ("ABL1", "KIT", "PDGFRA"), ("gleevec", "glivec")),
        ("gefitinib", "kinase inhibitor",
         "an inhibitor of the EGFR kinase, used in EGFR-mutated lung cancer",
         ("EGFR",), ("iressa",)),
        ("vemurafenib", "kinase inhibitor",
         "an inhibitor of mutated BRAF (V600E), used in melanoma", ("BRAF",), ("zelboraf",)),
        ("trastuzumab", "antibody",
         "an antibody against HER2, used in HER2-positive breast and gastric cancer",
         ("ERBB2",), ("herceptin",)),
        ("olaparib", "PARP inhibitor",
         "an inhibitor of PARP, used in BRCA-mutated cancers", ("PARP1", "PARP2"), ("lynparza",)),
        ("ivacaftor", "CFTR modulator",
         "a potentiator of the CFTR channel, used in cystic fibrosis", ("CFTR",), ("kalydeco",)),
        ("omeprazole", "proton pump inhibitor",
         "it lowers stomach acid by inhibiting the H+/K+ ATPase; an inhibitor of CYP2C19",
         ("ATP4A",), ("prilosec", "losec")),
        ("lisinopril", "ACE inhibitor",
         "it lowers blood pressure by inhibiting angiotensin-converting enzyme",
         ("ACE",), ("zestril", "prinivil")),
        ("metformin", "antidiabetic drug",
         "it lowers glucose production by the liver in type 2 diabetes", (), ("glucophage",)),
        ("methotrexate", "antimetabolite",
         "it inhibits dihydrofolate reductase", ("DHFR",), ("trexall",)),
        ("sildenafil", "PDE5 inhibitor",
         "an inhibitor of phosphodiesterase 5", ("PDE5A",), ("viagra", "revatio")),
        ("nitroglycerin", "nitrate",
         "a nitrate that relaxes blood vessels by releasing nitric oxide",
         (), ("glyceryl trinitrate", "gtn")),
        ("digoxin", "cardiac glycoside",
         "it inhibits the sodium-potassium ATPase; transported by P-glycoprotein",
         ("ATP1A1",), ("lanoxin",)),
        ("amiodarone", "antiarrhythmic drug",
         "an antiarrhythmic drug that inhibits CYP2C9, CYP3A4 and P-glycoprotein",
         (), ("pacerone", "cordarone")),
        ("levothyroxine", "thyroid hormone",
         "synthetic thyroxine (T4)", ("THRA", "THRB"), ("synthroid", "euthyrox")),
    )
)  # fmt: skip

INTERACTIONS = tuple(
    Interaction(*pair)
    for pair in (
        ("warfarin", "aspirin", "major", "raised risk of bleeding", _label("Warfarin")),
        ("warfarin", "ibuprofen", "major",
         "raised risk of bleeding, above all in the stomach and gut", _label("Warfarin")),
        ("warfarin", "amiodarone", "major",
         "CYP2C9 is inhibited: INR and risk of bleeding rise", _label("Warfarin")),
        ("warfarin", "clarithromycin", "major",
         "INR and risk of bleeding may rise", _label("Clarithromycin")),
        ("warfarin", "imatinib", "major",
         "use heparin instead of warfarin when anticoagulation is needed", _label("Imatinib")),
        ("apixaban", "aspirin", "major", "raised risk of bleeding", _label("Apixaban")),
        ("apixaban", "ibuprofen", "major", "raised risk of bleeding", _label("Apixaban")),
        ("clopidogrel", "omeprazole", "major",
         "CYP2C19 is inhibited: less active clopidogrel; avoid", _label("Clopidogrel")),
        ("clopidogrel", "warfarin", "major", "raised risk of bleeding", _label("Clopidogrel")),
        ("aspirin", "ibuprofen", "moderate",
         "ibuprofen can block the antiplatelet effect of low-dose aspirin",
         "FDA information for healthcare professionals, 2006"),
        ("simvastatin", "clarithromycin", "contraindicated",
         "CYP3A4 is inhibited: risk of myopathy and rhabdomyolysis", _label("Simvastatin")),
        ("simvastatin", "amiodarone", "major",
         "risk of myopathy: no more than 20 mg simvastatin a day", _label("Simvastatin")),
        ("simvastatin", "imatinib", "moderate",
         "CYP3A4 is inhibited: more simvastatin in the blood", _label("Imatinib")),
        ("atorvastatin", "clarithromycin", "major",
         "more atorvastatin in the blood: no more than 20 mg a day", _label("Atorvastatin")),
        ("lisinopril", "ibuprofen", "moderate",
         "less effect on blood pressure; kidney function may worsen", _label("Lisinopril")),
        ("methotrexate", "ibuprofen", "major",
         "methotrexate may rise to toxic levels", _label("Methotrexate")),
        ("sildenafil", "nitroglycerin", "contraindicated",
         "severe fall of blood pressure", _label("Sildenafil")),
        ("digoxin", "clarithromycin", "major",
         "P-glycoprotein is inhibited: more digoxin in the blood", _label("Clarithromycin")),
        ("digoxin", "amiodarone", "major",
         "P-glycoprotein is inhibited: more digoxin in the blood", _label("Amiodarone")),
        ("levothyroxine", "omeprazole", "moderate",
         "less levothyroxine may be absorbed", _label("Levothyroxine")),
    )
)  # fmt: skip

VARIANTS = (
    Variant("CFTR", "c.1521_1523delCTT", "p.Phe508del", "pathogenic",
            "cystic fibrosis", ("F508del", "deltaF508", "ΔF508", "c.1521_1523del")),
    Variant("BRCA1", "c.68_69delAG", "p.Glu23fs", "pathogenic",
            "hereditary breast and ovarian cancer", ("185delAG", "c.68_69del", "187delAG")),
    Variant("BRCA2", "c.5946delT", "p.Ser1982fs", "pathogenic",
            "hereditary breast and ovarian cancer", ("6174delT", "c.5946del")),
    Variant("HBB", "c.20A>T", "p.Glu7Val", "pathogenic",
            "sickle cell disease", ("E6V", "Glu6Val", "HbS", "E7V", "p.Glu6Val")),
    Variant("TP53", "c.524G>A", "p.Arg175His", "pathogenic", "Li-Fraumeni syndrome", ("R175H",)),
    Variant("BRAF", "c.1799T>A", "p.Val600Glu", "pathogenic (somatic)",
            "melanoma and other cancers", ("V600E",)),
)  # fmt: skip

GENES = tuple(
    sorted(
        {variant.gene for variant in VARIANTS} | {"MLH1", "MSH2", "PALB2", "LDLR", "PTEN", "APC"}
    )
)

_AF, _HT, _DM, _HC, _CML = (
    "atrial fibrillation",
    "hypertension",
    "type 2 diabetes",
    "hypercholesterolaemia",
    "chronic myeloid leukaemia",
)

PATIENTS = tuple(
    Patient(f"SYN-{number:03}", age, sex, conditions, drugs)
    for number, (age, sex, conditions, drugs) in enumerate(
        (
            (71, "female", (_AF, _HT), ("warfarin", "lisinopril")),
            (68, "male", (_AF,), ("warfarin", "aspirin")),
            (80, "female", (_AF, _DM), ("warfarin", "metformin")),
            (59, "male", (_AF,), ("apixaban",)),
            (77, "male", (_AF, _HT, _HC), ("apixaban", "lisinopril", "atorvastatin")),
            (66, "female", (_AF,), ("warfarin", "ibuprofen")),
            (54, "male", (_HT,), ("lisinopril",)),
            (61, "female", (_HT, _DM), ("lisinopril", "metformin")),
            (47, "female", (_DM,), ("metformin",)),
            (73, "male", (_DM, _HC), ("metformin", "simvastatin")),
            (65, "male", (_HC,), ("simvastatin",)),
            (58, "female", (_HC,), ("atorvastatin",)),
            (70, "female", (_HC, _HT), ("simvastatin", "lisinopril")),
            (39, "male", (_CML,), ("imatinib",)),
            (52, "female", (_CML,), ("imatinib",)),
            (64, "male", (_CML, _HC), ("imatinib", "simvastatin")),
            (82, "female", (_HT,), ("lisinopril",)),
            (45, "male", (_DM, _HT), ("metformin", "lisinopril")),
            (74, "female", (_AF, _HC), ("apixaban", "atorvastatin")),
            (69, "male", (_AF, _HT), ("warfarin", "lisinopril")),
        ),
        1,
    )
)

BUILT_IN = Knowledge(DRUGS, INTERACTIONS, VARIANTS, PATIENTS)
