//! The words that phrases are made of, in classes, and a table to find them in.
//!
//! The table is made when the crate is compiled: a guard has a fresh instance for every call, and would build it anew.

/// To set aside.
pub(crate) const IGNORE: u64 = 1 << 0;
/// What came before.
pub(crate) const PRIOR: u64 = 1 << 1;
/// All of them.
pub(crate) const ALL: u64 = 1 << 2;
/// Belonging to the reader.
pub(crate) const YOUR: u64 = 1 << 3;
/// What the reader was told.
pub(crate) const ORDERS: u64 = 1 << 4;
/// As above, but found in other trades as well.
pub(crate) const RULES: u64 = 1 << 5;
/// An action that the reader is to take.
pub(crate) const ACT: u64 = 1 << 6;
/// No.
pub(crate) const NOT: u64 = 1 << 7;
/// To speak of something.
pub(crate) const TELL: u64 = 1 << 8;
/// The human.
pub(crate) const USER: u64 = 1 << 9;
/// In the absence of.
pub(crate) const WITHOUT: u64 = 1 << 10;
/// To send away.
pub(crate) const SEND: u64 = 1 << 11;
/// What is worth stealing.
pub(crate) const SECRET: u64 = 1 << 12;
/// What is a secret only beside another word.
pub(crate) const KEY: u64 = 1 << 13;
/// The other word.
pub(crate) const KEY_KIND: u64 = 1 << 14;
/// An address: what is before `://` or around `@`. Given by the reader of words, not by the table.
pub(crate) const ADDRESS: u64 = 1 << 15;
/// To take out of the sight of.
pub(crate) const HIDE: u64 = 1 << 16;
/// From.
pub(crate) const FROM: u64 = 1 << 17;
/// To find out.
pub(crate) const NOTICE: u64 = 1 << 18;
/// New, other, real.
pub(crate) const NEW: u64 = 1 << 19;
/// What the reader is there for.
pub(crate) const TASK: u64 = 1 << 20;
/// Is, are.
pub(crate) const IS: u64 = 1 << 21;
/// Now.
pub(crate) const NOW: u64 = 1 << 22;
/// You.
pub(crate) const YOU: u64 = 1 << 23;
/// Must, will.
pub(crate) const MUST: u64 = 1 << 24;
/// A machine that reads.
pub(crate) const MACHINE: u64 = 1 << 25;
/// What a machine that reads is called beside another word.
pub(crate) const ASSISTANT: u64 = 1 << 26;
/// A message.
pub(crate) const NOTE: u64 = 1 << 27;
/// To, for.
pub(crate) const TO: u64 = 1 << 28;
/// Without rules.
pub(crate) const FREE: u64 = 1 << 29;
/// To lay open.
pub(crate) const REVEAL: u64 = 1 << 30;
/// The system, developers, administrators.
pub(crate) const SYSTEM: u64 = 1 << 31;
/// A prompt.
pub(crate) const PROMPT: u64 = 1 << 32;
/// Before.
pub(crate) const BEFORE: u64 = 1 << 33;
/// To use.
pub(crate) const USE: u64 = 1 << 34;
/// A tool.
pub(crate) const TOOL: u64 = 1 << 35;
/// To read.
pub(crate) const READ: u64 = 1 << 36;
/// What is in a file.
pub(crate) const CONTENTS: u64 = 1 << 37;
/// A place in a call to put something into.
pub(crate) const PARAMETER: u64 = 1 << 38;
/// This, these.
pub(crate) const THIS: u64 = 1 << 39;
/// A command.
pub(crate) const COMMAND: u64 = 1 << 40;
/// To follow.
pub(crate) const FOLLOW: u64 = 1 << 41;
/// A state.
pub(crate) const MODE: u64 = 1 << 42;
/// Switched on.
pub(crate) const ENABLED: u64 = 1 << 43;
/// If, as.
pub(crate) const IF: u64 = 1 << 44;
/// Everything.
pub(crate) const EVERYTHING: u64 = 1 << 45;
/// To ask.
pub(crate) const ASK: u64 = 1 << 46;
/// Longer.
pub(crate) const LONGER: u64 = 1 << 47;
/// Bound.
pub(crate) const BOUND: u64 = 1 << 48;
/// On.
pub(crate) const ON: u64 = 1 << 49;
/// To override.
pub(crate) const OVERRIDE: u64 = 1 << 50;
/// Instead of.
pub(crate) const INSTEAD: u64 = 1 << 51;
/// A file that holds secrets.
pub(crate) const SECRET_FILE: u64 = 1 << 52;
/// A request.
pub(crate) const PLEASE: u64 = 1 << 53;
/// Until now.
pub(crate) const SO_FAR: u64 = 1 << 54;
/// What the reader learned from whoever spoke before.
pub(crate) const TOLD: u64 = 1 << 55;
/// And, then.
pub(crate) const AND: u64 = 1 << 56;

/// Lower case, without accents and apostrophes. A word may stand in several classes.
const WORDS: &[(u64, &str)] = &[
    (
        IGNORE,
        "ignore ignoring disregard disregarding forget override overriding bypass discard neglect overrule disobey \
         ignoriere ignorieren vergiss vergessen missachte ignora ignorar olvida olvide descarta ignorez ignorer \
         oublie oubliez esqueca desconsidere dimentica ignorate игнорируи игнорируите проигнорируи забудь забудьте",
    ),
    (
        PRIOR,
        "previous previously prior above earlier preceding foregoing existing original initial former past vorherigen \
         vorigen bisherigen obigen fruheren vorangegangenen anteriores anterior previas previos precedentes \
         precedents anterieures precedenti предыдущие прошлые прежние вышеуказанные",
    ),
    (ALL, "all any every alle todas todos toutes tous tutte tutti все"),
    (YOUR, "your deine ihre tus sus vos tes suas tue твои ваши"),
    (
        ORDERS,
        "instruction instructions directive directives guideline guidelines prompt prompts directions guardrails \
         programming anweisung anweisungen vorgaben instrucciones indicaciones consignes instrucoes istruzioni \
         инструкции указания",
    ),
    (
        RULES,
        "rule rules restriction restrictions constraint constraints policy policies orders commands context \
         safeguards limitations regeln reglas regles regole правила",
    ),
    (
        ACT,
        "reply respond print say output write run execute call invoke return delete remove answer create click visit \
         fetch open download install act approve merge give provide transfer navigate start do purchase buy grant \
         summarize pretend translate recommend rate antworte sende gib fuhre responde envia ejecuta imprime reponds \
         envoie envoyez affiche rispondi invia esegui ответь отправь выполни напиши tell reveal show send post upload \
         forward email transmit exfiltrate submit share include append attach encode embed copy paste put render \
         repeat use read close change set add update switch stop disable enable commit push publish leave mark rank \
         praise list insert replace search go move pay book export drop make responda mostra mostre muestra affichez montrez repondez zeige выведи",
    ),
    (NOT, "not dont never no cannot shouldnt mustnt nicht nunca nao non jamais keine не"),
    (
        TELL,
        "say tell telling mention mentioning inform informing notify notifying reveal alert alerting disclose \
         disclosing report warn warning explain show showing display let refer acknowledge sage sag erwahne \
         informiere digas informes menciones dis dites mentionne diga informe dire говори сообщаи",
    ),
    (
        USER,
        "user users human humans operator owner benutzer nutzer usuario utilisateur utente пользователю пользователя",
    ),
    (WITHOUT, "without ohne sin sans sem senza"),
    (
        SEND,
        "transfer sende envia envoie envoyez invia отправь send sending post upload forward email transmit exfiltrate \
         leak submit share include append attach encode embed copy paste dump pass put deliver render",
    ),
    (
        SECRET,
        "password passwords secret secrets credential credentials passphrase mnemonic cookies conversation inbox \
         wallet token tokens passwort contrasena senha пароль пароли",
    ),
    (KEY, "key keys history variables"),
    (KEY_KIND, "secret seed api private access encryption chat environment env ssh aws"),
    (HIDE, "hide hidden conceal keep secretly silently"),
    (FROM, "from"),
    (NOTICE, "know notice aware see suspect"),
    (NEW, "new updated real actual true only next neue nueva nouvelle nuova nova новая language"),
    (TASK, "task goal objective mission purpose job role aufgabe tarea tache задача"),
    (IS, "youre is are be ist es est"),
    (NOW, "now henceforth jetzt ahora maintenant"),
    (YOU, "you youre youve youll"),
    (MUST, "youll must will shall should have need"),
    (MACHINE, "ai ais llm llms chatgpt gpt claude copilot gemini chatbot cursor ki ia language"),
    (ASSISTANT, "assistant assistants agent agents model models bot"),
    (NOTE, "notice note attention message instructs hey dear important hello"),
    (TO, "to for"),
    (FREE, "unrestricted uncensored jailbroken unfiltered dan"),
    (REVEAL, "print output give provide tell reveal disclose show display dump repeat leaking"),
    (SYSTEM, "system developer admin administrator debug root security"),
    (PROMPT, "prompt prompts"),
    (BEFORE, "before after when whenever"),
    (USE, "run execute call invoke using use calling running executing invoking used called"),
    (TOOL, "tool tools function"),
    (READ, "fetch open read load cat retrieve"),
    (CONTENTS, "contents content"),
    (PARAMETER, "parameter argument sidenote field"),
    (THIS, "this these it"),
    (COMMAND, "commands command script"),
    (FOLLOW, "follow obey comply following"),
    (MODE, "mode protocol"),
    (ENABLED, "enabled activated active engaged"),
    (IF, "if as"),
    (EVERYTHING, "everything anything alles todo tout tudo tutto"),
    (ASK, "ask asking confirming consulting confirmation permission"),
    (LONGER, "longer"),
    (BOUND, "bound restricted limited constrained"),
    (ON, "on onwards"),
    (OVERRIDE, "override"),
    (INSTEAD, "instead rather"),
    (SECRET_FILE, "env ssh aws id_rsa id_ed25519 passwd shadow netrc kube mcp npmrc gnupg"),
    (PLEASE, "please kindly immediately bitte porfavor"),
    (SO_FAR, "before"),
    (TOLD, "told instructed taught"),
    (AND, "and then instead und y et e и"),
];

const SLOTS: usize = 2048;

/// Hashes of words and their classes, each in the first free slot from its own on. No word's hash is 0. Another word with
/// the hash of one of these is taken for it; there are hundreds of these, and four thousand million hashes.
static TABLE: [(u32, u64); SLOTS] = {
    let mut table = [(0, 0); SLOTS];
    let mut group = 0;
    while group < WORDS.len() {
        let (classes, words) = WORDS[group];
        let bytes = words.as_bytes();
        let mut hash = Hash::new();
        let mut at = 0;
        while at <= bytes.len() {
            if at < bytes.len() && bytes[at] != b' ' {
                hash = hash.with(bytes[at]);
            } else {
                assert!(hash.0 != 0, "a slot with it would look free");
                let mut slot = hash.slot();
                while table[slot].0 != 0 && table[slot].0 != hash.0 {
                    slot = (slot + 1) % SLOTS;
                }
                table[slot] = (hash.0, table[slot].1 | classes);
                hash = Hash::new();
            }
            at += 1;
        }
        group += 1;
    }
    table
};

/// FNV-1a.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u32);

impl Hash {
    pub(crate) const fn new() -> Self {
        Self(0x811c_9dc5)
    }

    /// The hash of one byte more.
    #[must_use]
    pub(crate) const fn with(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    /// The classes of the word whose hash in lower case this is; 0 for one that no phrase speaks of.
    pub(crate) fn classes(self) -> u64 {
        let mut slot = self.slot();
        while let Some((known, classes)) = TABLE.get(slot).filter(|(known, _)| *known != 0) {
            if *known == self.0 {
                return *classes;
            }
            slot = (slot + 1) % SLOTS;
        }
        0
    }

    const fn slot(self) -> usize {
        ((self.0 >> 16) ^ self.0) as usize % SLOTS
    }
}

/// The classes of a word in lower case.
pub(crate) fn classes_of(word: &str) -> u64 {
    word.bytes().fold(Hash::new(), Hash::with).classes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn words() -> BTreeMap<&'static str, u64> {
        let mut all = BTreeMap::new();
        for (classes, words) in WORDS {
            words.split(' ').for_each(|word| *all.entry(word).or_insert(0) |= classes);
        }
        all
    }

    #[test]
    fn every_word_is_found_with_all_its_classes() {
        for (word, known) in words() {
            assert_eq!(classes_of(word), known, "{word}");
        }
        for word in ["", "ignores", "xyzzy"] {
            assert_eq!(classes_of(word), 0, "{word}");
        }
    }

    #[test]
    fn a_slot_is_soon_found() {
        assert!(words().len() * 3 < SLOTS);
    }
}
