//! Rust source as tokens: comments, literals and test code removed.

/// An identifier, a `::`, or one other character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its text.
    pub(crate) text: String,
    /// Its line, from 1.
    pub(crate) line: usize,
}

impl Token {
    /// An identifier or a keyword.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

/// The tokens of `source`, without comments and without what is inside literals.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let text: Vec<char> = source.chars().collect();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    while at < text.len() {
        let end = end_of(&text, at);
        let first = text[at];
        let word = first.is_alphanumeric() || first == '_';
        let literal = (first == '"' || first == '\'' || word) && matches!(text[end - 1], '"' | '\'' | '#');
        let comment = first == '/' && end - at > 1;
        if !first.is_whitespace() && !literal && !comment && first != '\'' {
            found.push(Token { text: text[at..end].iter().collect(), line });
        }
        line += text[at..end].iter().filter(|c| **c == '\n').count();
        at = end;
    }
    found
}

/// The end of the comment, literal, word or sign that starts at `at`.
fn end_of(text: &[char], at: usize) -> usize {
    let is = |n: usize, c: char| text.get(n) == Some(&c);
    let word = |n: usize| text.get(n).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    match text[at] {
        '/' if is(at + 1, '/') => (at..text.len()).find(|n| is(*n, '\n')).unwrap_or(text.len()),
        '/' if is(at + 1, '*') => {
            let (mut n, mut depth) = (at + 2, 1);
            while n < text.len() && depth > 0 {
                let (opens, closes) = (is(n, '/') && is(n + 1, '*'), is(n, '*') && is(n + 1, '/'));
                depth = depth + usize::from(opens) - usize::from(closes);
                n += if opens || closes { 2 } else { 1 };
            }
            n.min(text.len())
        }
        '"' => quoted(text, at + 1, '"'),
        // A character, or a lifetime: `'a'` against `'a`.
        '\'' if is(at + 1, '\\') || is(at + 2, '\'') => quoted(text, at + 1, '\''),
        '\'' => (at + 1..=text.len()).find(|n| !word(*n)).unwrap_or(text.len()),
        ':' if is(at + 1, ':') => at + 2,
        _ if word(at) => {
            let end = (at..=text.len()).find(|n| !word(*n)).unwrap_or(text.len());
            let prefix: String = text[at..end].iter().collect();
            match prefix.as_str() {
                "b" | "c" if is(end, '"') => quoted(text, end + 1, '"'),
                "b" if is(end, '\'') => quoted(text, end + 1, '\''),
                "r" | "br" | "cr" if is(end, '"') || is(end, '#') => raw(text, end).unwrap_or(end),
                _ => end,
            }
        }
        _ => at + 1,
    }
}

/// The end of a literal that `quote` closes.
fn quoted(text: &[char], mut at: usize, quote: char) -> usize {
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The end of a raw string whose hashes begin at `at`; `None` for a raw identifier.
fn raw(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at..].iter().take_while(|c| **c == '#').count();
    let open = at + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes = |n: &usize| {
        let rest = &text[*n..];
        rest.len() > hashes && rest[0] == '"' && rest[1..=hashes].iter().all(|c| *c == '#')
    };
    Some((open + 1..text.len()).find(closes).map_or(text.len(), |n| n + 1 + hashes))
}

/// The tokens without the items under `#[cfg(test)]`, and the names of the modules among those items.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let (mut at, mut kept, mut modules) = (0, Vec::new(), Vec::new());
    while at < tokens.len() {
        let test = ["#", "[", "cfg", "(", "test", ")", "]"];
        if test.iter().enumerate().all(|(n, text)| is(at + n, text)) {
            let end = end_of_item(tokens, at + test.len());
            let item = &tokens[at..end];
            modules
                .extend(item.windows(2).find(|pair| pair[0].text == "mod").map(|pair| pair[1].text.clone()));
            at = end;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    (kept, modules)
}

/// The end of the item at `at`: behind its `;`, its `,` or its braces.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" if depth == 1 => return at,
            "}" | ")" | "]" if depth == 0 => return at - 1,
            "}" | ")" | "]" => depth -= 1,
            ";" | "," if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        let source = r##"use a::b; // use c
            /* use d /* nested */ */ let x = "use \" e"; let y = 'f'; let z: &'static str = r#"use " g"#;"##;
        let words: Vec<String> = texts(source).into_iter().filter(|text| text.len() > 1).collect();
        assert_eq!(words, ["use", "::", "let", "let", "let", "str"]);
        assert_eq!(texts(r"let q = b'\''; z"), ["let", "q", "=", ";", "z"]);
        assert_eq!(tokens("a\n\nb")[1].line, 3);
    }

    #[test]
    fn test_items_are_left_out() {
        let source = "mod a; #[cfg(test)] mod tests; #[cfg(test)] mod more { use x; } fn f() { #[cfg(test)] g(a, b); h }";
        let (kept, modules) = without_tests(&tokens(source));
        let kept: Vec<&str> = kept.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(kept, ["mod", "a", ";", "fn", "f", "(", ")", "{", "h", "}"]);
        assert_eq!(modules, ["tests", "more"]);
    }
}
