//! The plainest phrases in writings without spaces between words.

use crate::sign::{Family, Signs};

/// How far apart the two words of a phrase stand, in bytes.
const NEAR_BYTES: usize = 60;

/// To set aside, what is set aside, and what came before.
const PHRASES: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["忽略", "无视", "無視", "忘记", "忘記", "不要遵守"],
        &["指令", "指示", "提示", "规则", "規則", "命令", "说明"],
        &["之前", "以上", "先前", "上述", "前面", "以前", "これまで", "上記"],
    ),
    (&["무시", "잊어"], &["지시", "명령", "프롬프트", "지침"], &["이전", "위의", "앞의"]),
];
/// All of it.
const ALL: &[&str] = &["所有", "全部", "一切", "すべて", "全て", "모든", "모두"];
/// What opens a quotation, and what closes it.
const QUOTES: (&[char], &[char]) = (&['“', '「', '『', '《', '"', '‘'], &['”', '」', '』', '》', '。', '\n', '’']);
/// Not to tell the user.
const SILENCE: &[&str] = &["不要告诉用户", "不要告訴用戶", "别告诉用户", "ユーザーに言わないで", "사용자에게 말하지"];

/// Notes the phrases of a text as it is.
pub(crate) fn find(text: &str, signs: &mut Signs) {
    for (at, c) in text.char_indices() {
        // Few letters begin a phrase.
        match c {
            '忽' | '无' | '無' | '忘' | '不' | '무' | '잊' => set_aside(text, at, signs),
            _ => {}
        }
        if matches!(c, '不' | '别' | 'ユ' | '사')
            && text.get(at..).is_some_and(|rest| SILENCE.iter().any(|phrase| rest.starts_with(phrase)))
        {
            signs.note(Family::Hide, 2);
        }
    }
}

/// Notes an order to set instructions aside whose verb may begin at `at`.
fn set_aside(text: &str, at: usize, signs: &mut Signs) {
    let rest = text.get(at..).unwrap_or_default();
    let Some((_, nouns, prior)) = PHRASES.iter().find(|(verbs, ..)| verbs.iter().any(|verb| rest.starts_with(verb)))
    else {
        return;
    };
    let start = text.floor_char_boundary(at.saturating_sub(NEAR_BYTES));
    let end = text.floor_char_boundary(at.saturating_add(NEAR_BYTES).min(text.len()));
    let near = text.get(start..end).unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| near.contains(word));
    if !has(nouns) || !has(prior) {
        return;
    }
    let before = text.get(start..at).unwrap_or_default();
    let opened = before.rfind(QUOTES.0);
    if opened.is_some_and(|opened| before.rfind(QUOTES.1).is_none_or(|closed| closed <= opened)) {
        signs.hint(Family::Override);
    } else {
        signs.note(Family::Override, if has(ALL) { 4 } else { 3 });
    }
}
